import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { codeIn, tablesOf } from '../docs/markdown.ts';
import { modulesOf, readText, walk } from './sources.ts';

const PAGE = 'docs/glossary.md';

/** The sandbox has words of its own: it knows nothing of workflows. */
const PACKAGES = ['core', 'engine', 'cli'];

interface Word {
  word: string;
  /** Identifiers in which it may stand. */
  stays: readonly string[];
}

const text = readText(PAGE);
const words: Word[] = tablesOf(PAGE, text)
  .filter(({ name }) => name === 'not used')
  .flatMap(({ rows }) => rows)
  .map(({ cells: [word = '', , stays = ''] }) => ({
    word,
    stays: stays.split(', ').flatMap((cell) => codeIn(cell) ?? []),
  }));

/** The words that an identifier is made of. */
function wordsIn(identifier: string): string[] {
  return identifier.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((word) => word.toLowerCase());
}

function identifiersIn(program: unknown): Set<string> {
  const found = new Set<string>();
  walk(program, (node) => {
    if (node['type'] === 'Identifier' && typeof node['name'] === 'string') found.add(node['name']);
  });
  return found;
}

/** The identifiers that hold a word which is not used. */
function misnamed(identifiers: Iterable<string>): string[] {
  return [...identifiers].filter((identifier) =>
    words.some(({ word, stays }) => wordsIn(identifier).includes(word) && !stays.includes(identifier)),
  );
}

const modules = PACKAGES.flatMap((folder) => modulesOf(folder)).filter(({ isTest }) => !isTest);

describe('the glossary', () => {
  it('has its words once', () => {
    const defined = [...text.matchAll(/^\| ((?:\*\*[a-z -]+\*\*(?:, )?)+) \|/gm)].flatMap((match) =>
      (match[1] ?? '').replaceAll('*', '').split(', '),
    );
    expect(defined.length).toBeGreaterThan(60);
    expect(defined).toEqual([...new Set(defined)]);
    expect(defined.filter((word) => words.some((other) => other.word === word))).toEqual([]);
  });

  it('has words that are not used, and no identifier has them', () => {
    expect([words.length > 8, modules.length > 150]).toEqual([true, true]);
    const found = modules.flatMap(({ file, program }) =>
      misnamed(identifiersIn(program)).map((identifier) => `${file}: ${identifier}`),
    );
    expect(found).toEqual([]);
  });

  it('names only exceptions that occur', () => {
    const all = new Set(modules.flatMap(({ program }) => [...identifiersIn(program)]));
    expect(words.flatMap(({ stays }) => stays).filter((identifier) => !all.has(identifier))).toEqual([]);
  });

  it('is compared with every part of an identifier', () => {
    const { program } = parseSync('x.ts', 'const runInstance = workflow; let a: { nextStage_2: DagNode };');
    expect(misnamed(identifiersIn(program)).sort()).toEqual(['DagNode', 'nextStage_2', 'runInstance']);
  });
});
