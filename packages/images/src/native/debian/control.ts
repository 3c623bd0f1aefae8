import type { VersionOperator } from './version.ts';

/** A package name with an optional version condition. */
export interface Relation {
  readonly name: string;
  readonly version?: { readonly operator: VersionOperator; readonly value: string };
}

/** Alternatives of a dependency, the preferred one first. */
export type Alternatives = readonly Relation[];

const RELATION =
  /^([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9-]+)?\s*(?:\(\s*(<<|<=|=|>=|>>|<|>)\s*([^\s)]+)\s*\))?\s*(?:\[[^\]]*\])?\s*(?:<[^>]*>\s*)*$/;

/** Obsolete operators, which mean "or equal". */
const OBSOLETE_OPERATORS: Readonly<Record<string, VersionOperator>> = { '<': '<=', '>': '>=' };

function readRelation(text: string): Relation | undefined {
  const match = RELATION.exec(text.trim());
  if (match === null) return undefined;
  const [, name = '', operator, value] = match;
  if (operator === undefined || value === undefined) return { name };
  return {
    name,
    version: { operator: OBSOLETE_OPERATORS[operator] ?? (operator as VersionOperator), value },
  };
}

/** Parses a field such as `Depends`: all entries are required, one alternative of each. Unknown syntax is skipped. */
export function readRelations(field: string | undefined): Alternatives[] {
  if (field === undefined || field.trim() === '') return [];
  return field
    .split(',')
    .map((entry) => entry.split('|').map(readRelation))
    .map((entry) => entry.filter((relation) => relation !== undefined))
    .filter((entry) => entry.length > 0);
}

/** Returns the relation in Debian's notation. */
export function formatRelation({ name, version }: Relation): string {
  return version === undefined ? name : `${name} (${version.operator} ${version.value})`;
}

/** The fields of a paragraph, by lower-case name. */
export type Paragraph = ReadonlyMap<string, string>;

/** Parses a paragraph of a Debian control file; continuation lines are joined by newlines. */
export function readParagraph(text: string): Paragraph {
  const fields = new Map<string, string>();
  let name = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    if (/^[ \t]/.test(line)) {
      if (name !== '') fields.set(name, `${fields.get(name) ?? ''}\n${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    name = line.slice(0, colon).toLowerCase();
    fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

/** Splits a control file into paragraphs. */
export function paragraphsOf(text: string): string[] {
  return text.split(/\n[ \t]*\n+/).filter((paragraph) => paragraph.trim() !== '');
}
