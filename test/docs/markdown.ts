import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Every page that documents Heddle: docs, the READMEs of the packages and examples, and the README if it exists. */
export const pages: readonly string[] = [
  ...globSync('docs/**/*.md', { cwd: repository }),
  ...globSync('{packages/*,examples,examples/*}/README.md', { cwd: repository }),
  ...(existsSync(join(repository, 'README.md')) ? ['README.md'] : []),
]
  .map((file) => file.replaceAll('\\', '/'))
  .sort();

/** Returns the text of a page, whose path is relative to the repository. */
export function readPage(file: string): string {
  return readFileSync(join(repository, file), 'utf8');
}

/** A fenced block. Its first line is `language mark mark=value …`. */
export interface Fence {
  /** The page and the line of the opening fence, for messages. */
  readonly at: string;
  readonly line: number;
  readonly language: string;
  readonly marks: ReadonlyMap<string, string>;
  readonly text: string;
}

/** Returns the fenced blocks of a page, in order. */
export function fencesOf(file: string, text: string): Fence[] {
  const fences: Fence[] = [];
  for (const match of text.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)) {
    const line = text.slice(0, match.index).split('\n').length;
    const [language = '', ...words] = (match[1] ?? '').trim().split(/\s+/);
    const marks = new Map(
      words.map((word): [string, string] => [word.split('=')[0] ?? '', word.split('=')[1] ?? '']),
    );
    fences.push({ at: `${file}:${line}`, line, language, marks, text: match[2] ?? '' });
  }
  return fences;
}

/** A fence, and the fences that belong to it, by their mark (`input`, `output`, …). */
export interface Example {
  readonly main: Fence;
  readonly parts: ReadonlyMap<string, Fence>;
}

/** Marks that begin a new example. */
const EXAMPLE_MARKS = ['workflow', 'run', 'temporal', 'file'];

/** Returns the fences with `mainMark`, each with the related fences that follow it before the next example. */
export function examplesOf(
  fences: readonly Fence[],
  mainMark: string,
  partMarks: readonly string[],
): Example[] {
  const examples: Example[] = [];
  let following = new Map<string, Fence>();
  for (const fence of fences) {
    if (EXAMPLE_MARKS.some((mark) => fence.marks.has(mark))) following = new Map();
    if (fence.marks.has(mainMark)) examples.push({ main: fence, parts: following });
    const mark = partMarks.find((each) => fence.marks.has(each));
    if (mark !== undefined) following.set(mark, fence);
  }
  return examples;
}

/** A table of a page: the name in the comment above it (`<!-- name -->`), and its cells without the header. */
export interface Table {
  readonly name: string;
  readonly rows: readonly { readonly at: string; readonly cells: readonly string[] }[];
}

/** Returns the named tables of a page. */
export function tablesOf(file: string, text: string): Table[] {
  const tables: Table[] = [];
  for (const match of text.matchAll(/^<!-- (.+) -->\n\n?((?:\|.*\n)+)/gm)) {
    const firstLine = text.slice(0, match.index + match[0].indexOf('|')).split('\n').length;
    const rows = (match[2] ?? '').trimEnd().split('\n');
    tables.push({
      name: match[1] ?? '',
      rows: rows.map((row, index) => ({ at: `${file}:${firstLine + index}`, cells: cellsOf(row) })).slice(2),
    });
  }
  return tables;
}

/** Returns the cells of a row. */
export function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/**
 * Returns the content of a cell that is one code span. Like Markdown, it removes one space at both ends. Returns
 * undefined for other cells.
 */
export function codeIn(cell: string): string | undefined {
  const code = /^(`+)([^`][\s\S]*?|[^`])\1$/.exec(cell)?.[2];
  return code?.replace(/^ ([\s\S]*\S[\s\S]*) $/, '$1');
}

/** Returns a row of a table; an empty cell is one space. */
export function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`.replaceAll(/(?<=\|) {2}(?=\|)/g, ' ');
}

/** Returns the lines of a table. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [lineOf(head), `|${'---|'.repeat(head.length)}`, ...rows.map(lineOf)];
}
