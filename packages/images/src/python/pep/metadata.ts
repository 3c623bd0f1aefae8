/** What the resolver needs of a distribution's core metadata. */
export interface Metadata {
  readonly name: string;
  readonly version: string;
  /** `Requires-Dist` fields as they stand. */
  readonly requires: readonly string[];
  /** `Requires-Python`; empty when there is none. */
  readonly requiresPython: string;
}

/** The fields of a METADATA file, which is a message header as in mail; undefined without a name or a version. */
export function parseMetadata(text: string): Metadata | undefined {
  const fields = headerOf(text);
  const first = (name: string): string | undefined => fields.find(([key]) => key === name)?.[1];
  const [name, version] = [first('name'), first('version')];
  if (name === undefined || version === undefined) return undefined;
  return {
    name,
    version,
    requires: fields.filter(([key]) => key === 'requires-dist').map(([, value]) => value),
    requiresPython: first('requires-python') ?? '',
  };
}

/** Field names in lower case with their values, continued lines joined; the description after the empty line is left. */
function headerOf(text: string): [string, string][] {
  const fields: [string, string][] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line === '') break;
    const last = fields.at(-1);
    const colon = line.indexOf(':');
    if (/^[ \t]/.test(line) && last) last[1] += ` ${line.trim()}`;
    else if (colon > 0) fields.push([line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]);
  }
  return fields;
}
