import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LONGEST_FILES } from '../sequencer.ts';
import { repositoryFolder } from './sources.ts';

const TOP_LEVEL_ENTRIES = new Set([
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'turbo.json',
  'packages',
  'examples',
  'test',
  'docs',
  'README.md',
  'CONTRIBUTING.md',
  'AGENTS.md',
  'LICENSE',
]);

const BINARY_FILE = /\.(png|jpg|gif|ico|woff2?|gz|tgz|zip|wasm|node|sqlite|db)$/;

// Written in pieces, so that this file does not contain the forbidden words.
const FORBIDDEN_WORDS: readonly { readonly word: string; readonly allowedFiles?: readonly string[] }[] = [
  { word: ['..', 'shared'].join('/'), allowedFiles: ['.ci/run'] },
  { word: ['', 'work', ''].join('/') },
  { word: `TO${'DO'}` },
  { word: `FIX${'ME'}` },
  { word: `oxlint-${'disable'}` },
  { word: `eslint-${'disable'}` },
  { word: `@ts-${'ignore'}` },
  { word: `@ts-${'nocheck'}` },
];

/** Returns every file that git tracks or would track, relative to the repository. */
function listFiles(): string[] {
  const output = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: repositoryFolder,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return output.split('\0').filter((file) => file !== '');
}

function forbiddenWordsIn(file: string, text: string): string[] {
  return FORBIDDEN_WORDS.filter(
    ({ word, allowedFiles }) => text.includes(word) && !allowedFiles?.includes(file),
  ).map(({ word }) => `${file}: ${word}`);
}

function textOf(file: string): string {
  try {
    return readFileSync(join(repositoryFolder, file), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''; // The removal is not committed yet.
    throw error;
  }
}

describe('the tree', () => {
  it('has only the listed files and dotfiles at its top level', () => {
    const entries = new Set(listFiles().map((file) => file.split('/')[0] as string));
    expect(entries.size).toBeGreaterThan(5);
    const unexpectedEntries = [...entries].filter(
      (entry) => !entry.startsWith('.') && !TOP_LEVEL_ENTRIES.has(entry),
    );
    expect(unexpectedEntries).toEqual([]);
  });

  it('has no paths outside the repository, no unfinished work and no disabled checks', () => {
    const textFiles = listFiles().filter((file) => !BINARY_FILE.test(file) && file !== 'package-lock.json');
    expect(textFiles.length).toBeGreaterThan(50);
    expect(textFiles.flatMap((file) => forbiddenWordsIn(file, textOf(file)))).toEqual([]);
  });

  it('reports a forbidden word', () => {
    expect(forbiddenWordsIn('a.ts', `// TO${'DO'}: later`)).toHaveLength(1);
    expect(forbiddenWordsIn('.ci/run', ['..', 'shared'].join('/'))).toEqual([]);
  });

  it('has every test file that the sequencer starts first', () => {
    const presentFiles = new Set(listFiles());
    expect(LONGEST_FILES.filter((file) => !presentFiles.has(file))).toEqual([]);
  });
});
