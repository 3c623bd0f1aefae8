import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesWithExceptions, exceptionProblems, type Finding } from './exceptions.ts';
import { createRepository, runTool } from './temporary-repository.ts';
import { readJson, readText, repositoryFolder } from './sources.ts';

const exportLines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `export const a${index} = ${index};\n`).join('');

const branches = Array.from({ length: 13 }, (_, index) => `  if (n === ${index}) return ${index};\n`).join(
  '',
);

/** Returns the findings of oxlint in `folder`, as `rule file`, and the number of files that it read. */
function lint(folder: string): { findings: string[]; fileCount: number } {
  const { output } = runTool('oxlint', ['--format', 'json', 'packages'], folder);
  const report = JSON.parse(output) as { diagnostics: Finding[]; number_of_files: number };
  const ruleOf = (code: string): string => /\((.+)\)/.exec(code)?.[1] ?? code;
  return {
    findings: report.diagnostics.map(({ code, filename }) => `${ruleOf(code)} ${filename}`),
    fileCount: report.number_of_files,
  };
}

const cyclicModule = (other: string): string =>
  `import type { A } from './${other}.ts';\nexport type B = A;\nexport type A2 = B;\nexport { type A };\n`;

/** Modules that break a rule, with their files below packages/core/. */
const VIOLATIONS: readonly (readonly [rule: string, file: string, text: string])[] = [
  ['max-lines', 'src/lines.ts', exportLines(401)],
  ['max-lines-per-function', 'src/long.ts', `export function f(): void {\n${'  f();\n'.repeat(61)}}\n`],
  ['complexity', 'src/complex.ts', `export function f(n: number): number {\n${branches}  return n;\n}\n`],
  [
    'max-params',
    'src/params.ts',
    'export const f = (a: 1, b: 1, c: 1, d: 1, e: 1): 1[] => [a, b, c, d, e];\n',
  ],
  ['no-explicit-any', 'src/any.ts', 'export const a: any = 1;\n'],
  ['no-floating-promises', 'src/floating.ts', 'const f = async (): Promise<void> => {};\nf();\n'],
  ['no-restricted-properties', 'src/now.ts', 'export const now = Date.now();\n'],
  ['no-restricted-properties', 'src/random.ts', 'export const now = Math.random();\n'],
  ['no-focused-tests', 'src/a.test.ts', "import { it } from 'vitest';\nit.only('a', () => {});\n"],
  ['no-cycle', 'src/a.ts', cyclicModule('b')],
  ['no-cycle', 'src/b.ts', cyclicModule('a')],
];
const VALID_MODULE = 'packages/core/src/valid.ts';

describe('lint', () => {
  const files = VIOLATIONS.map(([, file, text]) => [`packages/core/${file}`, text]);
  using testRepository = createRepository({
    'packages/core/tsconfig.json': '{"extends":"../../tsconfig.json","include":["src"]}',
    ...Object.fromEntries(files),
    [VALID_MODULE]: `${exportLines(400)}\n// Neither comments nor blank lines count.\n`,
  });
  const { findings, fileCount: readFileCount } = lint(testRepository.folder);

  it.each(VIOLATIONS)('refuses %s in %s', (rule, file) => {
    expect(findings).toContain(`${rule} packages/core/${file}`);
  });

  it('reads every module, and accepts a module within the limits', () => {
    expect(readFileCount).toBe(VIOLATIONS.length + 1);
    expect(findings.filter((finding) => finding.endsWith(VALID_MODULE))).toEqual([]);
  });
});

/** Returns what lint finds without the exceptions in `files`, the files that the exceptions name. */
function findingsWithoutExceptions(files: readonly string[]): Finding[] {
  if (files.length === 0) return [];
  const file = 'node_modules/.cache/heddle-test/oxlint-without-exceptions.json';
  const config = readJson<{ extends?: unknown }>('.oxlintrc.json');
  delete config.extends;
  mkdirSync(dirname(join(repositoryFolder, file)), { recursive: true });
  writeFileSync(join(repositoryFolder, file), JSON.stringify(config));
  const { output } = runTool('oxlint', ['--config', file, '--format', 'json', ...files], repositoryFolder);
  return (JSON.parse(output) as { diagnostics: Finding[] }).diagnostics;
}

describe('exceptions to the limits', () => {
  const exception =
    '{\n"files": ["packages/a/src/a.ts"],\n"rules": { "typescript/no-explicit-any": "off" } }';
  const finding = { code: 'typescript(no-explicit-any)', filename: 'packages/a/src/a.ts' };
  const REASON = '// The library gives us nothing better.';
  const formatExceptions = (...lines: string[]): string => `{ "overrides": [\n${lines.join('\n')}\n] }`;

  it('each have a reason, one file and one rule, and are still needed', () => {
    const text = readText('test/repo/exceptions.jsonc');
    expect(exceptionProblems(text, findingsWithoutExceptions(filesWithExceptions(text)))).toEqual([]);
  });

  it('are accepted with a reason if they are needed', () => {
    expect(exceptionProblems(formatExceptions(REASON, exception), [finding])).toEqual([]);
  });

  it.each([
    ['have no reason', formatExceptions(exception), [finding], 'no reason'],
    ['are no longer needed', formatExceptions(REASON, exception), [], 'no longer needed'],
    [
      'name more than one file',
      formatExceptions(REASON, exception.replace('a.ts"]', 'a.ts", "b.ts"]')),
      [finding],
      'one file',
    ],
  ])('are refused if they %s', (_, text, findings, problem) => {
    expect(exceptionProblems(text, findings)).toEqual([expect.stringContaining(problem)]);
  });
});
