import { describe, expect, it } from 'vitest';
import { readText } from './sources.ts';

const TEST_COMMAND = 'npm ci && npm test';

describe('the quick start of the README', () => {
  const text = (): string => readText('README.md');

  it('is its first section, and holds two command lines that start from a fresh clone', () => {
    const [, title = '', body = ''] = /^## (.+)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text()) ?? [];
    const commands = body.match(/^npm ci && .+$/gm) ?? [];
    expect(title).toBe('Quick start');
    expect(commands).toHaveLength(2);
    expect(commands[0]).toMatch(/^npm ci && npx heddle run examples\//);
    expect(commands[1]).toBe(TEST_COMMAND);
  });

  it('gives the test command that CI runs', () => {
    const lines = readText('.ci/run').split('\n');
    expect(lines).toContain(TEST_COMMAND);
  });
});
