import type { VersionOperator } from './version.ts';

/** One package that would do. */
export interface Relation {
  readonly name: string;
  readonly version?: { readonly operator: VersionOperator; readonly than: string };
}

/** Packages of which one is needed, the preferred one first. */
export type Alternatives = readonly Relation[];

const RELATION =
  /^([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9-]+)?\s*(?:\(\s*(<<|<=|=|>=|>>|<|>)\s*([^\s)]+)\s*\))?\s*(?:\[[^\]]*\])?\s*(?:<[^>]*>\s*)*$/;

/** Old spellings, which mean "or equal". */
const OPERATORS: Readonly<Record<string, VersionOperator>> = { '<': '<=', '>': '>=' };

function readRelation(text: string): Relation | null {
  const match = RELATION.exec(text.trim());
  if (match === null) return null;
  const [, name = '', operator, than] = match;
  if (operator === undefined || than === undefined) return { name };
  return { name, version: { operator: OPERATORS[operator] ?? (operator as VersionOperator), than } };
}

/** What a field such as `Depends` asks for: all of the list, of each entry one. What is not understood is left out. */
export function readRelations(field: string | undefined): Alternatives[] {
  if (field === undefined || field.trim() === '') return [];
  return field
    .split(',')
    .map((entry) => entry.split('|').map(readRelation))
    .map((entry) => entry.filter((relation) => relation !== null))
    .filter((entry) => entry.length > 0);
}

/** The relation as Debian writes it. */
export function relationText({ name, version }: Relation): string {
  return version === undefined ? name : `${name} (${version.operator} ${version.than})`;
}
