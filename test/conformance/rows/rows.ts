import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { repository, walk } from '../../repo/sources.ts';

/** Behaviours that a runtime is held to, and what shows each of them, takes its place, or keeps it from sight. */
export interface Row {
  /** `E5`, or `E6-E10` for several that belong together. */
  id: string;
  behaviour: string;
  /** `file › title`; of a recorded case the id stands in place of the title. */
  shownBy?: string[];
  /** What Heddle does instead, with the rule, page or decision record that says so. */
  instead?: string;
  /** Why nobody can see it. */
  internal?: string;
}

/** Tables of rows, by the letter of their ids: what they are about, and how many rows they have. */
export const TABLES: { readonly [letter: string]: readonly [about: string, rows: number] } = {
  D: ['From a definition to a graph', 37],
  E: ['Edges, joins, paths not taken', 81],
  G: ['Runs', 50],
  B: ['Blocks and tries', 33],
  X: ['What a pause keeps', 22],
  O: ['Loops and parallels', 33],
  U: ['Parts of runs, starts, numbers, errors', 215],
  V: ['References and placeholders', 258],
  C: ['Conditions', 42],
  R: ['Routers', 12],
  W: ['Waits', 22],
  F: ['Functions', 13],
  S: ['Variables', 8],
  T: ['Triggers', 12],
  N: ['Evaluators', 21],
  P: ['Requests', 12],
  H: ['Child workflows', 50],
  K: ['Other blocks', 11],
};

const CASES = 'test/conformance/outcomes/outcomes.test.ts';

export function readRows(): Row[] {
  return (JSON.parse(read('test/conformance/rows/rows.json')) as { rows: Row[] }).rows;
}

function read(file: string): string {
  return readFileSync(join(repository, file), 'utf8');
}

/** The single ids that a row stands for. */
export function idsOf({ id }: Pick<Row, 'id'>): string[] {
  const [first = '', last = first] = id.split('-');
  const [from, to] = [Number(first.slice(1)), Number(last.slice(1))];
  return Array.from({ length: to - from + 1 }, (_, index) => `${first[0]}${from + index}`);
}

/** The tests that rows name and that are not there. */
export function missingTests(rows: readonly Row[]): string[] {
  const texts = new Map<string, ReadonlySet<string>>();
  return rows
    .flatMap(({ shownBy = [] }) => shownBy)
    .filter((test) => {
      const [file, title] = splitTest(test);
      const known = texts.get(file) ?? titlesIn(file);
      texts.set(file, known);
      return !known.has(title);
    });
}

function splitTest(test: string): [file: string, title: string] {
  const at = test.indexOf(' › ');
  return [test.slice(0, at), test.slice(at + 3)];
}

/** The titles that a file's tests have, in calls or as the first text of a table's row; ids of recorded cases. */
function titlesIn(file: string): Set<string> {
  const titles = new Set<string>();
  if (file === CASES)
    for (const [, id = ''] of read('test/conformance/outcomes/cases.json').matchAll(/"id": ?"(r\d+)"/g))
      titles.add(id);
  if (file === CASES || globSync(file, { cwd: repository }).length === 0) return titles;
  walk(parseSync(file, read(file)).program.body, (node) => {
    const title = textOf(titleIn(node));
    if (title !== undefined) titles.add(title);
  });
  return titles;
}

/** Where a node has a title: `it(title, …)`, `it.each(…)(title, …)`, `[title, …]`, `{ title }`. */
function titleIn(node: Readonly<Record<string, unknown>>): unknown {
  switch (node['type']) {
    case 'CallExpression':
      return isTest(node['callee']) ? (node['arguments'] as unknown[])[0] : undefined;
    case 'ArrayExpression':
      return (node['elements'] as unknown[])[0];
    case 'Property':
      return (node['key'] as { name?: string }).name === 'title' ? node['value'] : undefined;
    default:
      return undefined;
  }
}

function isTest(callee: unknown): boolean {
  const { name, object, callee: inner } = callee as { name?: string; object?: unknown; callee?: unknown };
  const next = object ?? inner;
  return name === 'it' || (next !== undefined && isTest(next));
}

function textOf(node: unknown): string | undefined {
  const { value, quasis } = (node ?? {}) as { value?: unknown; quasis?: { value: { cooked: string } }[] };
  if (quasis?.length === 1) return quasis[0]?.value.cooked;
  return typeof value === 'string' ? value : undefined;
}

/** The page that shows the rows, table by table. */
export function conformancePage(rows: readonly Row[]): string {
  const tables = Object.entries(TABLES).map(([letter, [about]]) => {
    const cells = rows.filter(({ id }) => id.startsWith(letter)).map((row) => line(row));
    return `## ${about}\n\n| row | behaviour | shown by |\n|---|---|---|\n${cells.join('\n')}\n`;
  });
  return `${PREFACE}\n${tables.join('\n')}`;
}

const PREFACE = `# Conformance

What a runtime of this format is held to, row by row, and the test that shows it. Where Heddle does something else on purpose, the row says what, and which rule or decision record has it; where nobody can see a behaviour, it says so. The suite is \`describeRuntime\` (\`test/conformance/runtime.ts\`): one call runs it on an implementation. \`%s\` and the like in titles stand for the values of a table; numbers such as \`r035\` are recorded cases of \`test/conformance/outcomes\`.

This page is made from \`test/conformance/rows/rows.json\`: \`npx vitest run --config test/vitest.config.ts test/conformance/rows -u\`. A test fails when a row has neither a test nor a reason, when a test that it names is not there, or when this page is stale.
`;

function line({ id, behaviour, shownBy = [], instead, internal }: Row): string {
  const cells = [
    ...(instead === undefined ? [] : [`*Instead:* ${linked(instead)}.`]),
    ...(internal === undefined ? [] : [`*Not visible:* ${linked(internal)}.`]),
    ...shownBy.map((test) => {
      const [file, title] = splitTest(test);
      return `[${basename(file)}](../${file}) › ${escaped(title)}`;
    }),
  ];
  return `| ${id.replace('-', '–')} | ${behaviour} | ${cells.join('<br>')} |`;
}

function escaped(title: string): string {
  return title.replaceAll(/[|<*_[\]\\]/g, (character) => `\\${character}`);
}

/** With links behind the numbers of rules and decision records, and behind the names of pages. */
export function linked(text: string): string {
  const headings = [...read('docs/semantics.md').matchAll(/^### (R\d+) (.+)$/gm)];
  return text
    .replaceAll(/(?<!\[)\bR\d+\b/g, (rule) => {
      const [, , title] = headings.find(([, number]) => number === rule) ?? [];
      if (title === undefined) throw new Error(`docs/semantics.md has no rule ${rule}`);
      return `[${rule}](semantics.md#${anchor(`${rule} ${title}`)})`;
    })
    .replaceAll(/\bADR (\d+)\b/g, (name, number: string) => {
      const [file] = globSync(`docs/adr/${number.padStart(4, '0')}-*.md`, { cwd: repository });
      if (file === undefined) throw new Error(`there is no decision record ${number}`);
      return `[${name}](adr/${basename(file)})`;
    })
    .replaceAll(/\[(errors|operations)\](?!\()/g, '[$1.md]($1.md)')
    .replaceAll(/(?<![[(/])\b(references\.md)\b/g, '[$1]($1)');
}

function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
