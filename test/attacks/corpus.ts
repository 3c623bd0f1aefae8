import { parseSync } from 'oxc-parser';
import { readJson, readText, walk } from '../repo/sources.ts';
import { GROUPS } from './groups.ts';

/** A test by its file and title; of one with several cases also a text of the case. */
interface Test {
  readonly file: string;
  readonly title: string;
  readonly row?: string;
}

/** An attack that has to be tried, and what tries it: ids of attacks in groups, and tests. */
export interface Case {
  readonly id: string;
  readonly tries: string;
  readonly by: readonly (string | Test)[];
}

/** Every attack that was known before the sandbox was built, and what had to be tried once it was. */
export const CORPUS = readJson<readonly Case[]>('test/attacks/corpus.json');

/** The file of each attack's group, below test/attacks, by the attack's id. */
const FILES: ReadonlyMap<string, string> = new Map(
  Object.entries(GROUPS).flatMap(([file, { attacks }]) => attacks.map(({ id }) => [id, file] as const)),
);

const TESTING = new Set(['it', 'test', 'describe']);

interface Node {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly object?: Node;
  readonly callee?: Node;
  readonly arguments?: readonly Node[];
}

/** Returns the first name of `it`, `it.each(…)`, `describe.skipIf(…).each(…)` and the like. */
function rootOf(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  return node.type === 'Identifier' ? node.name : rootOf(node.callee ?? node.object);
}

interface Texts {
  readonly titles: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
}

const known = new Map<string, Texts>();

/** Returns the titles of the tests in a file, and all texts in it. */
function textsOf(file: string): Texts {
  const before = known.get(file);
  if (before !== undefined) return before;
  const titles = new Set<string>();
  const all = new Set<string>();
  walk(parseSync(file, readText(file)).program.body, (found) => {
    const node = found as unknown as Node;
    if (node.type === 'Literal' && typeof node.value === 'string') all.add(node.value);
    if (node.type !== 'CallExpression' || !TESTING.has(rootOf(node.callee) ?? '')) return;
    const [title] = node.arguments ?? [];
    if (title?.type === 'Literal' && typeof title.value === 'string') titles.add(title.value);
  });
  const texts = { titles, all };
  known.set(file, texts);
  return texts;
}

/** Returns why a case is not covered by its references; empty if it is. */
export function faultsOf({ id, tries, by }: Case): string[] {
  if (by.length === 0) return [`${id} (${tries}) has no test`];
  return by.flatMap((one) => {
    if (typeof one === 'string') return FILES.has(one) ? [] : [`${id}: there is no attack ${one}`];
    const { titles, all } = textsOf(one.file);
    if (!titles.has(one.title)) return [`${id}: ${one.file} has no test "${one.title}"`];
    const { row } = one;
    return row === undefined || all.has(row) ? [] : [`${id}: "${one.title}" has no case "${row}"`];
  });
}

const linkOf = (one: string | Test): string =>
  typeof one === 'string'
    ? `[${one}](../test/attacks/${FILES.get(one)})`
    : `[${one.file.split('/').at(-1)}](../${one.file})`;

/** Returns the table of the corpus: each case, what it tries, and its tests. */
export function corpusTable(): string[] {
  const rows = CORPUS.map(
    ({ id, tries, by }) => `| ${id} | ${tries} | ${[...new Set(by.map(linkOf))].join(', ')} |`,
  );
  return ['| case | tries | tried by |', '|---|---|---|', ...rows];
}
