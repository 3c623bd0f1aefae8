import { parseSync } from 'oxc-parser';
import { readJson, readText, walk } from '../repo/sources.ts';
import { GROUPS } from './groups.ts';

/** A reference to a test by its file and title. For a table of tests, `row` is a string that only one row contains. */
interface TestReference {
  readonly file: string;
  readonly title: string;
  readonly row?: string;
}

/** An attack that must be tested, and its tests: ids of attacks in groups, or tests. */
export interface Case {
  readonly id: string;
  readonly attack: string;
  readonly tests: readonly (string | TestReference)[];
}

/** Attacks that were known before the sandbox was built, and attacks that its design suggests. */
export const CORPUS = readJson<readonly Case[]>('test/attacks/corpus.json');

/** The file of each attack's group, below test/attacks, by the attack's id. */
const GROUP_FILES: ReadonlyMap<string, string> = new Map(
  Object.entries(GROUPS).flatMap(([file, { attacks }]) => attacks.map(({ id }) => [id, file] as const)),
);

const TEST_FUNCTIONS = new Set(['it', 'test', 'describe']);

interface Node {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly object?: Node;
  readonly callee?: Node;
  readonly arguments?: readonly Node[];
}

/** Returns the name at the start of a callee, such as `describe` of `describe.skipIf(…).each(…)`. */
function rootNameOf(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  return node.type === 'Identifier' ? node.name : rootNameOf(node.callee ?? node.object);
}

interface FileStrings {
  readonly titles: ReadonlySet<string>;
  readonly allStrings: ReadonlySet<string>;
}

const cache = new Map<string, FileStrings>();

/** Returns the titles of the tests in a file, and all strings in it. */
function stringsOf(file: string): FileStrings {
  const cachedStrings = cache.get(file);
  if (cachedStrings !== undefined) return cachedStrings;
  const titles = new Set<string>();
  const allStrings = new Set<string>();
  walk(parseSync(file, readText(file)).program.body, (value) => {
    const node = value as unknown as Node;
    if (node.type === 'Literal' && typeof node.value === 'string') allStrings.add(node.value);
    if (node.type !== 'CallExpression' || !TEST_FUNCTIONS.has(rootNameOf(node.callee) ?? '')) return;
    const [title] = node.arguments ?? [];
    if (title?.type === 'Literal' && typeof title.value === 'string') titles.add(title.value);
  });
  const strings = { titles, allStrings };
  cache.set(file, strings);
  return strings;
}

/** Returns a message for each reference of a case to a test that does not exist, and for a case without tests. */
export function findMissingTests({ id, attack, tests }: Case): string[] {
  if (tests.length === 0) return [`${id} (${attack}) has no test`];
  return tests.flatMap((reference) => {
    if (typeof reference === 'string')
      return GROUP_FILES.has(reference) ? [] : [`${id}: there is no attack ${reference}`];
    const { file, title, row } = reference;
    const { titles, allStrings } = stringsOf(file);
    if (!titles.has(title)) return [`${id}: ${file} has no test "${title}"`];
    return row === undefined || allStrings.has(row) ? [] : [`${id}: "${title}" has no case "${row}"`];
  });
}

const linkOf = (reference: string | TestReference): string =>
  typeof reference === 'string'
    ? `[${reference}](../test/attacks/${GROUP_FILES.get(reference)})`
    : `[${reference.file.split('/').at(-1)}](../${reference.file})`;

/** Returns the table of the corpus: each case with its attack and its tests. */
export function formatCorpusTable(): string[] {
  const rows = CORPUS.map(
    ({ id, attack, tests }) => `| ${id} | ${attack} | ${[...new Set(tests.map(linkOf))].join(', ')} |`,
  );
  return ['| id | attack | tests |', '|---|---|---|', ...rows];
}
