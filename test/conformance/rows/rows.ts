import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { calledFunction, repositoryFolder, walk } from '../../repo/sources.ts';

/**
 * A behaviour that a runtime must have. The row names its tests, describes Heddle's different behaviour, or says why
 * the behaviour is not visible.
 */
export interface Row {
  /** `E5`, or `E6-E10` for several that belong together. */
  id: string;
  behaviour: string;
  /** `file › title`, or `file › id` for a recorded case. */
  shownBy?: string[];
  /** Heddle's different behaviour, with its rule, page or decision record. */
  instead?: string;
  /** Why the behaviour is not visible. */
  internal?: string;
}

/** The tables by the letter of their ids: title and number of ids. One row can cover several ids. */
export const TABLES: { readonly [letter: string]: readonly [title: string, idCount: number] } = {
  D: ['From definition to graph', 37],
  E: ['Edges, joins and skipped paths', 81],
  G: ['Runs', 50],
  B: ['Blocks and attempts', 33],
  X: ['State kept during a pause', 22],
  O: ['Loops and parallels', 33],
  U: ['Partial runs, starts, iteration numbers and errors', 215],
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

const OUTCOMES_TEST = 'test/conformance/outcomes/outcomes.test.ts';

export function readRows(): Row[] {
  return (JSON.parse(readText('test/conformance/rows/rows.json')) as { rows: Row[] }).rows;
}

function readText(file: string): string {
  return readFileSync(join(repositoryFolder, file), 'utf8');
}

/** Returns the ids that a row covers. */
export function idsOf({ id }: Pick<Row, 'id'>): string[] {
  const [first = '', last = first] = id.split('-');
  const [from, to] = [Number(first.slice(1)), Number(last.slice(1))];
  return Array.from({ length: to - from + 1 }, (_, index) => `${first[0]}${from + index}`);
}

/** Returns the tests that are named by rows but do not exist. */
export function findMissingTests(rows: readonly Row[]): string[] {
  const titlesByFile = new Map<string, ReadonlySet<string>>();
  return rows
    .flatMap(({ shownBy = [] }) => shownBy)
    .filter((test) => {
      const [file, title] = splitTest(test);
      const titles = titlesByFile.get(file) ?? readTitles(file);
      titlesByFile.set(file, titles);
      return !titles.has(title);
    });
}

function splitTest(test: string): [file: string, title: string] {
  const separatorIndex = test.indexOf(' › ');
  return [test.slice(0, separatorIndex), test.slice(separatorIndex + 3)];
}

/**
 * Returns the titles of the tests in a file: titles in calls of `it`, first strings of arrays (which may be rows of
 * `it.each`), and properties named `title`. For the file of the recorded cases, returns their ids.
 */
function readTitles(file: string): Set<string> {
  const titles = new Set<string>();
  if (file === OUTCOMES_TEST)
    for (const [, id = ''] of readText('test/conformance/outcomes/cases.json').matchAll(/"id": ?"(r\d+)"/g))
      titles.add(id);
  if (file === OUTCOMES_TEST || globSync(file, { cwd: repositoryFolder }).length === 0) return titles;
  walk(parseSync(file, readText(file)).program.body, (node) => {
    const title = stringValueOf(findTitleNode(node));
    if (title !== undefined) titles.add(title);
  });
  return titles;
}

/** Returns the node of the title in `it(title, …)`, `it.each(…)(title, …)`, `[title, …]` or `{ title }`. */
function findTitleNode(node: Readonly<Record<string, unknown>>): unknown {
  switch (node['type']) {
    case 'CallExpression':
      return calledFunction(node['callee']) === 'it' ? (node['arguments'] as unknown[])[0] : undefined;
    case 'ArrayExpression':
      return (node['elements'] as unknown[])[0];
    case 'Property':
      return (node['key'] as { name?: string }).name === 'title' ? node['value'] : undefined;
    default:
      return undefined;
  }
}

function stringValueOf(node: unknown): string | undefined {
  const { value, quasis } = (node ?? {}) as { value?: unknown; quasis?: { value: { cooked: string } }[] };
  if (quasis?.length === 1) return quasis[0]?.value.cooked;
  return typeof value === 'string' ? value : undefined;
}

/** Returns the page with all tables of rows. */
export function formatConformancePage(rows: readonly Row[]): string {
  const tables = Object.entries(TABLES).map(([letter, [title]]) => {
    const lines = rows.filter(({ id }) => id.startsWith(letter)).map((row) => formatTableLine(row));
    return `## ${title}\n\n| row | behaviour | shown by |\n|---|---|---|\n${lines.join('\n')}\n`;
  });
  return `${PREFACE}\n${tables.join('\n')}`;
}

const PREFACE = `# Conformance

This page lists the behaviours that a runtime for this format must have, and the tests that show each behaviour. The [glossary](glossary.md) explains terms such as *port*, *container*, *frame* and *dead* edge. *Instead* describes an intended difference of Heddle, and links to the rule or decision record that gives the reason. *Not visible* says why nobody can observe in Heddle what another engine does internally.

The tests of this format are in one suite, the function \`describeRuntime\` (\`test/conformance/runtime.ts\`). One call runs the suite on an implementation. In the titles of tests, placeholders such as \`%s\` stand for the values of a table. A title such as \`r035\` is the number of a recorded case in \`test/conformance/outcomes\`.

This page is generated from \`test/conformance/rows/rows.json\` by the command \`npx vitest run --config test/vitest.config.ts test/conformance/rows -u\`. A test fails if a row has neither a test nor a reason, if a row names a test that does not exist, or if this page is out of date.
`;

function formatTableLine({ id, behaviour, shownBy = [], instead, internal }: Row): string {
  const shownByLines = [
    ...(instead === undefined ? [] : [`*Instead:* ${addLinks(instead)}.`]),
    ...(internal === undefined ? [] : [`*Not visible:* ${addLinks(internal)}.`]),
    ...shownBy.map((test) => {
      const [file, title] = splitTest(test);
      return `[${basename(file)}](../${file}) › ${escapeMarkdown(title)}`;
    }),
  ];
  return `| ${id.replace('-', '–')} | ${behaviour} | ${shownByLines.join('<br>')} |`;
}

function escapeMarkdown(title: string): string {
  return title.replaceAll(/[|<*_[\]\\]/g, (character) => `\\${character}`);
}

/** Adds links to the numbers of rules and decision records, and to the names of pages. */
export function addLinks(text: string): string {
  const headings = [...readText('docs/semantics.md').matchAll(/^### (R\d+) (.+)$/gm)];
  return text
    .replaceAll(/(?<!\[)\bR\d+\b/g, (rule) => {
      const [, , title] = headings.find(([, number]) => number === rule) ?? [];
      if (title === undefined) throw new Error(`docs/semantics.md has no rule ${rule}`);
      return `[${rule}](semantics.md#${anchorOf(`${rule} ${title}`)})`;
    })
    .replaceAll(/\bADR (\d+)\b/g, (name, number: string) => {
      const [file] = globSync(`docs/adr/${number.padStart(4, '0')}-*.md`, { cwd: repositoryFolder });
      if (file === undefined) throw new Error(`there is no decision record ${number}`);
      return `[${name}](adr/${basename(file)})`;
    })
    .replaceAll(/\[(errors|operations)\](?!\()/g, '[$1.md]($1.md)')
    .replaceAll(/(?<![[(/])\b(references\.md)\b/g, '[$1]($1)');
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
