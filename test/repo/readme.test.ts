import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readText, repositoryFolder } from './sources.ts';

const TEST_COMMAND = 'npm ci && npm test';

describe('the quick start of the README', () => {
  const readReadme = (): string => readText('README.md');

  it('is its first section, with two command lines that start from a fresh clone', () => {
    const [, title = '', body = ''] = /^## (.+)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(readReadme()) ?? [];
    const commands = body.match(/^npm ci && .+$/gm) ?? [];
    expect(title).toBe('Quick start');
    expect(commands).toHaveLength(2);
    expect(commands[0]).toMatch(/^npm ci && npx heddle run examples\//);
    expect(commands[1]).toBe(TEST_COMMAND);
  });

  it('contains the test command that CI runs', () => {
    const lines = readText('.ci/run').split('\n');
    expect(lines).toContain(TEST_COMMAND);
  });
});

it('the README of the tests has one row for each folder', () => {
  const rows = readText('test/README.md').matchAll(/^\| `([\w-]+)\/` \|/gm);
  const folders = readdirSync(join(repositoryFolder, 'test'), { withFileTypes: true });
  expect([...rows].map(([, name]) => name)).toEqual(
    folders
      .filter((folder) => folder.isDirectory())
      .map(({ name }) => name)
      .toSorted(),
  );
});
