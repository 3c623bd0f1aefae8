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

/** A fenced code block. Its first line is `language attribute attribute=value …`. */
export interface CodeBlock {
  /** The page and the line of the opening fence, for messages. */
  readonly location: string;
  readonly line: number;
  readonly language: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly text: string;
}

/** Returns the fenced code blocks of a page, in order. */
export function codeBlocksOf(file: string, text: string): CodeBlock[] {
  const codeBlocks: CodeBlock[] = [];
  for (const match of text.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)) {
    const line = text.slice(0, match.index).split('\n').length;
    const [language = '', ...words] = (match[1] ?? '').trim().split(/\s+/);
    const attributes = new Map(
      words.map((word): [string, string] => [word.split('=')[0] ?? '', word.split('=')[1] ?? '']),
    );
    codeBlocks.push({ location: `${file}:${line}`, line, language, attributes, text: match[2] ?? '' });
  }
  return codeBlocks;
}

/** A code block, and the code blocks that belong to it, by their attribute (`input`, `output`, …). */
export interface Example {
  readonly mainCodeBlock: CodeBlock;
  readonly relatedCodeBlocks: ReadonlyMap<string, CodeBlock>;
}

/** Attributes that begin a new example. */
const EXAMPLE_ATTRIBUTES = ['workflow', 'run', 'temporal', 'file'];

/**
 * Returns the code blocks with `mainAttribute`, each with the related code blocks that follow it before the next
 * example.
 */
export function examplesOf(
  codeBlocks: readonly CodeBlock[],
  mainAttribute: string,
  relatedAttributes: readonly string[],
): Example[] {
  const examples: Example[] = [];
  let followingCodeBlocks = new Map<string, CodeBlock>();
  for (const codeBlock of codeBlocks) {
    if (EXAMPLE_ATTRIBUTES.some((attribute) => codeBlock.attributes.has(attribute)))
      followingCodeBlocks = new Map();
    if (codeBlock.attributes.has(mainAttribute))
      examples.push({ mainCodeBlock: codeBlock, relatedCodeBlocks: followingCodeBlocks });
    const attribute = relatedAttributes.find((relatedAttribute) =>
      codeBlock.attributes.has(relatedAttribute),
    );
    if (attribute !== undefined) followingCodeBlocks.set(attribute, codeBlock);
  }
  return examples;
}

/** A table of a page: the name in the comment above it (`<!-- name -->`), and its cells without the header. */
export interface Table {
  readonly name: string;
  readonly rows: readonly { readonly location: string; readonly cells: readonly string[] }[];
}

/** Returns the named tables of a page. */
export function tablesOf(file: string, text: string): Table[] {
  const tables: Table[] = [];
  for (const match of text.matchAll(/^<!-- (.+) -->\n\n?((?:\|.*\n)+)/gm)) {
    const firstLine = text.slice(0, match.index + match[0].indexOf('|')).split('\n').length;
    const rows = (match[2] ?? '').trimEnd().split('\n');
    tables.push({
      name: match[1] ?? '',
      rows: rows
        .map((row, index) => ({ location: `${file}:${firstLine + index}`, cells: cellsOf(row) }))
        .slice(2),
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
export function formatRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`.replaceAll(/(?<=\|) {2}(?=\|)/g, ' ');
}

/** Returns the lines of a table. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [formatRow(header), `|${'---|'.repeat(header.length)}`, ...rows.map(formatRow)];
}
