import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LONGEST } from '../sequencer.ts';
import { repository } from './sources.ts';

const TOP_LEVEL = new Set([
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

const BINARY = /\.(png|jpg|gif|ico|woff2?|gz|tgz|zip|wasm|node|sqlite|db)$/;

// Written in pieces, so that this file does not contain the forbidden words.
const FORBIDDEN: readonly { readonly word: string; readonly except?: readonly string[] }[] = [
  { word: ['..', 'shared'].join('/'), except: ['.ci/run'] },
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
  const out = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: repository,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return out.split('\0').filter((file) => file !== '');
}

function forbiddenIn(file: string, text: string): string[] {
  return FORBIDDEN.filter(({ word, except }) => text.includes(word) && !except?.includes(file)).map(
    ({ word }) => `${file}: ${word}`,
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(join(repository, file), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''; // The removal is not committed yet.
    throw error;
  }
}

describe('the tree', () => {
  it('has only the listed files and dotfiles at its top level', () => {
    const entries = new Set(listFiles().map((file) => file.split('/')[0] as string));
    expect(entries.size).toBeGreaterThan(5);
    const unexpected = [...entries].filter((entry) => !entry.startsWith('.') && !TOP_LEVEL.has(entry));
    expect(unexpected).toEqual([]);
  });

  it('has no paths outside the repository, no unfinished work and no disabled checks', () => {
    const textFiles = listFiles().filter((file) => !BINARY.test(file) && file !== 'package-lock.json');
    expect(textFiles.length).toBeGreaterThan(50);
    expect(textFiles.flatMap((file) => forbiddenIn(file, textOf(file)))).toEqual([]);
  });

  it('reports a forbidden word', () => {
    expect(forbiddenIn('a.ts', `// TO${'DO'}: later`)).toHaveLength(1);
    expect(forbiddenIn('.ci/run', ['..', 'shared'].join('/'))).toEqual([]);
  });

  it('has every test file that the sequencer starts first', () => {
    const present = new Set(listFiles());
    expect(LONGEST.filter((file) => !present.has(file))).toEqual([]);
  });
});
