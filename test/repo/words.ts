// npm run words: lists the words that other packages do not use, and updates the word lists in words/.
import { globSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ParseResult, parseSync } from 'oxc-parser';
import { calledFunction, readText, repositoryFolder, walk } from './sources.ts';

/** Minimum number of publishers that use a word, so that the word counts as a common word. */
const MIN_PUBLISHERS = 2;
/** Minimum number of publishers whose comments or pages contain a word that names may use, although no name has it. */
const MIN_PROSE_PUBLISHERS = 12;
const MIN_LETTERS = 4;

export type WordKind = 'names' | 'prose';

/** For each word, one file that contains it. */
export type Words = Map<string, string>;

/** A file of packages/, test/ or examples/, or a page. */
export interface WordSource {
  readonly file: string;
  readonly text: string;
}

/** Returns the words of a text in lower case, without inline code and URLs. `runId` has the words run and id. */
export function wordsIn(text: string): string[] {
  const words = splitWords(text.replaceAll(/`[^`\n]*`|\bhttps?:\S+|&\w+;/g, ' '));
  return words.filter((word) => word.length >= MIN_LETTERS);
}

/** Returns all words of a text or an identifier, in lower case. */
export function splitWords(text: string): string[] {
  const spacedText = text.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ');
  return (spacedText.match(/[A-Za-z]+/g) ?? []).map((word) => word.toLowerCase());
}

/** Returns the word with other endings: a name `stored` is as common as a name `store`. */
export function formsOf(word: string): string[] {
  const stems = [word];
  for (const [ending, replacement] of [
    ['s', ''],
    ['es', ''],
    ['ies', 'y'],
    ['ed', ''],
    ['ed', 'e'],
    ['ing', ''],
    ['ing', 'e'],
  ] as const)
    if (word.endsWith(ending) && word.length > ending.length + 2)
      stems.push(word.slice(0, -ending.length) + replacement);
  return [...stems, ...['s', 'ed', 'ing', 'd'].map((ending) => word + ending)];
}

const DECLARATION_TYPES = new Set([
  'FunctionDeclaration',
  'ClassDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'TSEnumDeclaration',
]);
const MEMBER_TYPES = new Set([
  'MethodDefinition',
  'PropertyDefinition',
  'TSPropertySignature',
  'TSMethodSignature',
]);

interface Node {
  readonly [key: string]: unknown;
}

/** Adds the names that a parameter or the left side of a declaration binds. */
function addBoundNames(pattern: unknown, names: Set<string>): void {
  if (typeof pattern !== 'object' || pattern === null) return;
  const node = pattern as Node;
  if (node['type'] === 'Identifier') names.add(node['name'] as string);
  for (const key of ['left', 'argument', 'value', 'parameter']) addBoundNames(node[key], names);
  for (const key of ['properties', 'elements'])
    for (const item of (node[key] as unknown[] | undefined) ?? []) addBoundNames(item, names);
}

/** Returns the names that a module declares: of variables, parameters, functions, types and their members. */
export function declaredNames(program: unknown): Set<string> {
  const names = new Set<string>();
  walk(program, (node) => {
    const type = node['type'] as string;
    if (type === 'VariableDeclarator' || DECLARATION_TYPES.has(type)) addBoundNames(node['id'], names);
    const params = node['params'] as unknown[] | { items?: unknown[] } | undefined;
    for (const param of (Array.isArray(params) ? params : params?.items) ?? []) addBoundNames(param, names);
    if (MEMBER_TYPES.has(type) && node['computed'] !== true) addBoundNames(node['key'], names);
  });
  return names;
}

/** Returns the texts of a module that people read: comments, and titles of tests or messages. */
function proseOf({ program, comments }: ParseResult, { isTest }: { isTest: boolean }): string[] {
  const prose = comments.map(({ value }) => value);
  walk(program, (node) => {
    if (isTest && node['type'] === 'CallExpression') {
      const [title] = node['arguments'] as Node[];
      if (
        typeof title?.['value'] === 'string' &&
        /^(?:it|describe)$/.test(calledFunction(node['callee']) ?? '')
      )
        prose.push(title['value']);
    }
    if (isTest) return;
    const value = node['type'] === 'TemplateElement' ? (node['value'] as Node)['cooked'] : node['value'];
    // Strings with fewer spaces are names of products, formats of dates or SQL.
    if (typeof value === 'string' && value.split(' ').length > 4 && !/^\s*<|[{};]/.test(value))
      prose.push(value);
  });
  return prose;
}

/** Returns the text of a page without code, URLs and tags. */
function pageText(text: string): string {
  return text.replaceAll(/^( *)(```+)[\s\S]*?^\1\2|\]\([^)]*\)|<[^>\n]*>/gm, ' ');
}

/** Returns the words of the sources: of names that packages declare, and of everything that people read. */
export function wordsOf(sources: Iterable<WordSource>): Record<WordKind, Words> {
  const words = { names: new Map<string, string>(), prose: new Map<string, string>() };
  const add = (kind: WordKind, text: string, file: string): void => {
    for (const word of wordsIn(text)) words[kind].set(word, words[kind].get(word) ?? file);
  };
  for (const { file, text } of sources) {
    if (file.endsWith('.md')) {
      add('prose', pageText(text), file);
      continue;
    }
    const module = parseSync(file, text);
    const isTest = file.startsWith('test/') || file.endsWith('.test.ts');
    for (const prose of proseOf(module, { isTest })) add('prose', prose, file);
    if (isTest || !file.startsWith('packages/')) continue;
    for (const name of declaredNames(module.program)) add('names', name, file);
  }
  return words;
}

/** Returns every module and page of the repository. */
export function readSources(): WordSource[] {
  const files = globSync(
    ['{packages,test,examples}/**/*.{ts,tsx,mjs,md}', '{docs,.changeset}/**/*.md', '*.md'],
    {
      cwd: repositoryFolder,
      exclude: ['**/node_modules/**', '**/dist/**', '**/fixtures/**', '**/*.d.ts'],
    },
  );
  return files.sort().map((file) => ({ file, text: readText(file) }));
}

/** Returns the words in `words` that are neither in the list of common words nor terms. */
export function unknownWords(kind: WordKind, words: Words): string[] {
  const knownWords = new Set([...readList(kind), ...readList('terms')]);
  return [...words].filter(([word]) => !knownWords.has(word)).map(([word, file]) => `${word} (${file})`);
}

/** Returns the words of a list in words/. Lines that start with `#` are comments. */
export function readList(name: WordKind | 'terms'): string[] {
  const lines = readText(`test/repo/words/${name}.txt`).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

const COMMENTS_AND_STRINGS =
  /\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;

/** Returns the readable modules and pages of installed packages, each with its publisher: a scope, or a package. */
function* publishedFiles(folder: string): Generator<{ publisher: string; file: string; text: string }> {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    // Folders with a dot, such as .cache, have files of this repository.
    if (!/\.(?:[cm]?js|m?ts|md)$/.test(file) || file.includes('.min.') || /^(?:\.|@heddle)/.test(file))
      continue;
    const path = join(folder, file);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats?.isFile() || stats.size > 600_000) continue;
    const text = readFileSync(path, 'utf8');
    const isMinified = text.split('\n', 50).some((line) => line.length > 2000);
    if (!isMinified) yield { publisher: publisherOf(file), file, text };
  }
}

function publisherOf(file: string): string {
  return file.split('node_modules/').at(-1)?.split('/')[0] ?? file;
}

/** Counts the publishers that use each word. */
function countPublishers(): Record<WordKind, Map<string, number>> {
  const publishersByWord = { names: new Map<string, Set<string>>(), prose: new Map<string, Set<string>>() };
  for (const { publisher, file, text } of publishedFiles(join(repositoryFolder, 'node_modules'))) {
    const code = file.endsWith('.md') ? '' : text.replaceAll(COMMENTS_AND_STRINGS, ' ');
    for (const [kind, kindText] of [
      ['prose', text],
      ['names', code],
    ] as const)
      for (const word of new Set(wordsIn(kindText.replaceAll('`', ' ')))) {
        const publishers = publishersByWord[kind].get(word) ?? new Set();
        publishersByWord[kind].set(word, publishers.add(publisher));
      }
  }
  const sizesOf = (map: Map<string, Set<string>>) =>
    new Map([...map].map(([word, { size }]) => [word, size]));
  return { names: sizesOf(publishersByWord.names), prose: sizesOf(publishersByWord.prose) };
}

/** Updates the lists in words/: the words of the repository that other packages also use. */
function updateLists(words: Record<WordKind, Words>): void {
  const counts = countPublishers();
  const countOf = (kind: WordKind, word: string): number =>
    Math.max(...formsOf(word).map((form) => counts[kind].get(form) ?? 0));
  const usagePredicates = {
    prose: (word: string) => countOf('prose', word) >= MIN_PUBLISHERS,
    names: (word: string) =>
      countOf('names', word) >= MIN_PUBLISHERS || countOf('prose', word) >= MIN_PROSE_PUBLISHERS,
  };
  for (const kind of ['names', 'prose'] as const) {
    const usedWords = [...words[kind].keys()].filter(usagePredicates[kind]).sort();
    writeFileSync(join(repositoryFolder, `test/repo/words/${kind}.txt`), `${usedWords.join('\n')}\n`);
  }
}

if (import.meta.main) {
  const words = wordsOf(readSources());
  updateLists(words);
  const unknownWordLines = (['names', 'prose'] as const).flatMap((kind) =>
    unknownWords(kind, words[kind]).map((line) => `${kind}: ${line}`),
  );
  process.stdout.write(
    `${[...unknownWordLines, `${words.names.size} words of names, ${words.prose.size} of prose`].join('\n')}\n`,
  );
  if (unknownWordLines.length > 0) process.exitCode = 1;
}
