/** The part of a distribution's core metadata that the resolver needs. */
export interface Metadata {
  readonly name: string;
  readonly version: string;
  /** `Requires-Dist` fields, unparsed. */
  readonly requires: readonly string[];
  /** `Requires-Python`; empty if absent. */
  readonly requiresPython: string;
}

/** Parses a METADATA file, which has the format of mail headers; undefined without a name or version. */
export function parseMetadata(text: string): Metadata | undefined {
  const fields = parseFields(text);
  const firstValue = (name: string): string | undefined => fields.find(([key]) => key === name)?.[1];
  const [name, version] = [firstValue('name'), firstValue('version')];
  if (name === undefined || version === undefined) return undefined;
  return {
    name,
    version,
    requires: fields.filter(([key]) => key === 'requires-dist').map(([, value]) => value),
    requiresPython: firstValue('requires-python') ?? '',
  };
}

/**
 * Returns lower-case field names with their values, continuation lines joined. Ignores the description after the empty
 * line.
 */
function parseFields(text: string): [string, string][] {
  const fields: [string, string][] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line === '') break;
    const lastField = fields.at(-1);
    const colon = line.indexOf(':');
    if (/^[ \t]/.test(line) && lastField) lastField[1] += ` ${line.trim()}`;
    else if (colon > 0) fields.push([line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]);
  }
  return fields;
}
