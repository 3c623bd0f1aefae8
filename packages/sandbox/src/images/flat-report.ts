/** What a process that works on an image sends: the channel takes flat messages only. */
interface FlatReport {
  /** Everything but the bytes, as JSON. */
  readonly json: string;
  /** Which field the bytes are; '' where there are none. */
  readonly field: string;
  readonly bytes: Uint8Array;
}

/** Beyond what packages can have to say. */
const MOST_CHARS = 16 * 2 ** 20;

/** A report, of whose fields one may be bytes, as a flat message. */
export function flatten(report: object): FlatReport {
  const [field = '', bytes = new Uint8Array()] =
    Object.entries(report).find(([, value]) => value instanceof Uint8Array) ?? [];
  const rest = Object.fromEntries(Object.entries(report).filter(([name]) => name !== field));
  return { json: JSON.stringify(rest), field: field as string, bytes: bytes as Uint8Array };
}

/** The report in a message, or null where it is none: whoever took the process over may send anything. */
export function readReport(message: unknown): object | null {
  const { json, field, bytes } = (message ?? {}) as Partial<FlatReport>;
  if (typeof json !== 'string' || json.length > MOST_CHARS) return null;
  if (typeof field !== 'string' || !(bytes instanceof Uint8Array)) return null;
  try {
    const rest: unknown = JSON.parse(json);
    if (typeof rest !== 'object' || rest === null) return null;
    return field === '' ? rest : { ...rest, [field]: bytes };
  } catch {
    return null;
  }
}
