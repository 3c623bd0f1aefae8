import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { calledFunction, repositoryFolder, walk } from './sources.ts';

const TEST_PATTERNS = [
  'packages/*/src/**/*.test.ts',
  'test/**/*.test.ts',
  'test/conformance/**/*.ts',
  'examples/**/*.test.ts',
];

const TEST_FUNCTIONS: ReadonlySet<string | undefined> = new Set(['it', 'test', 'describe']);

function read(file: string): string {
  return readFileSync(join(repositoryFolder, file), 'utf8');
}

/** Returns the rules that have a heading in docs/semantics.md. */
function rulesWithHeading(text: string): string[] {
  return [...text.matchAll(/^### (R\d+) \S/gm)].map((match) => match[1] as string);
}

/** Returns the rules at the end of the titles of tests: `… (R3)`, or `… (R3, R5)`. */
function rulesIn(file: string, text: string): string[] {
  const rules: string[] = [];
  walk(parseSync(file, text).program.body, (node) => {
    if (node['type'] !== 'CallExpression' || !TEST_FUNCTIONS.has(calledFunction(node['callee']))) return;
    const [firstArgument] = node['arguments'] as {
      type: string;
      value?: unknown;
      quasis?: { value: { raw: string } }[];
    }[];
    const title =
      firstArgument?.type === 'TemplateLiteral'
        ? firstArgument.quasis?.at(-1)?.value.raw
        : firstArgument?.value;
    const [ruleList = ''] = / \(R\d+(, R\d+)*\)$/.exec(String(title)) ?? [];
    rules.push(...(ruleList.match(/R\d+/g) ?? []));
  });
  return rules;
}

const rules = rulesWithHeading(read('docs/semantics.md'));
const testFiles = TEST_PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: repositoryFolder }));
const testedRules = new Set(testFiles.flatMap((file) => rulesIn(file, read(file))));

describe('the rules of docs/semantics.md', () => {
  it('have unique numbers, in order', () => {
    expect(rules.length).toBeGreaterThan(30);
    expect(rules).toEqual([...new Set(rules)].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
  });

  it('each have a test with their number in its title', () => {
    expect(rules.filter((rule) => !testedRules.has(rule))).toEqual([]);
  });

  it('have every number that tests and comments name', () => {
    expect([...testedRules].filter((rule) => !rules.includes(rule))).toEqual([]);
    const sources = globSync('packages/core/src/{machine,record}/*.ts', { cwd: repositoryFolder });
    expect(sources.length).toBeGreaterThan(20);
    const mentions = sources
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) => (read(file).match(/\bR\d+\b/g) ?? []).map((rule) => ({ file, rule })));
    expect(mentions.filter(({ rule }) => !rules.includes(rule))).toEqual([]);
  });

  it('name existing tests', () => {
    const files = [...read('docs/semantics.md').matchAll(/`([\w./-]+\.test\.ts)`/g)].map(
      (match) => match[1] as string,
    );
    const missingFiles = files.filter(
      (file) => !testFiles.some((testFile) => testFile === file || testFile === `packages/core/src/${file}`),
    );
    expect([files.length > 20, missingFiles]).toEqual([true, []]);
  });

  it('are read from titles of every form', () => {
    const text = `it('a (R1)', f); it.each(x)('b %s (R2, R3)', f); describe(\`\${c} (R4)\`, f); test.skipIf(y)("d (R5)", f);
      it('about R6', f); other('e (R7)', f); // it('f (R8)')`;
    expect(rulesIn('x.test.ts', text)).toEqual(['R1', 'R2', 'R3', 'R4', 'R5']);
  });
});
