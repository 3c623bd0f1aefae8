import { globSync } from 'node:fs';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { DIAGNOSTIC_CODES } from '../../packages/core/src/plan/diagnostics.ts';
import { createFailure } from '../../packages/sandbox/src/outcome.ts';
import type { JobErrorCode } from '../../packages/sandbox/src/outcome.ts';
import { readText, repositoryFolder, walk } from './sources.ts';
import { codeOf, codesInUnion } from './unions.ts';

const PAGE = 'docs/errors.md';

/** The types that list codes, with their files. */
const CODE_UNIONS: readonly (readonly [file: string, type: string])[] = [
  ['packages/core/src/errors.ts', 'EngineErrorCode'],
  ['packages/core/src/errors.ts', 'BlockErrorCode'],
  ['packages/api/src/errors.ts', 'ApiErrorCode'],
  ['packages/api/src/errors.ts', 'ApiDetailCode'],
  ['packages/sandbox/src/outcome.ts', 'JobErrorCode'],
  ['packages/sandbox/src/error.ts', 'SandboxErrorCode'],
  ['packages/sandbox/src/egress/error.ts', 'EgressErrorCode'],
];

/** Syntax nodes with an error code, by type: the field with a name, the allowed names, and the field with the code. */
const CODE_NODES: Readonly<Record<string, readonly [name: string, names: RegExp, code: string]>> = {
  NewExpression: ['callee', /^(Engine|Block|Sandbox|Egress)Error$/, 'arguments'],
  CallExpression: [
    'callee',
    /^(errorResponse|refuse|createFailure|permanentError|configError)$/,
    'arguments',
  ],
  Property: ['key', /^code$/, 'value'],
  VariableDeclarator: ['id', /^code$/, 'init'],
};

/** Returns the part of a node that can have an error code: the first argument of an error, or the value of `code`. */
function codeNodeOf(node: Record<string, unknown>): unknown {
  const [nameField, names, codeField] = CODE_NODES[node['type'] as string] ?? ['', /^$/, ''];
  const { name = '-' } = (node[nameField] ?? {}) as { name?: string };
  if (!names.test(name)) return undefined;
  const value = node[codeField];
  return Array.isArray(value) ? (value[0] as unknown) : value;
}

/** Returns the error codes that a source throws or returns. */
function codesIn(file: string, text: string): string[] {
  const codes: string[] = [];
  walk(parseSync(file, text).program.body, (node) => {
    walk(codeNodeOf(node), (innerNode) => codes.push(codeOf(innerNode) ?? ''));
  });
  return codes.filter((code) => code !== '');
}

const listedCodes = CODE_UNIONS.flatMap(([file, type]) => codesInUnion(readText(file), type));
const usedCodes = globSync('packages/*/src/**/*.ts', { cwd: repositoryFolder })
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap((file) => codesIn(file, readText(file)));
const diagnosticCodes = Object.keys(DIAGNOSTIC_CODES);

interface Section {
  code: string;
  text: string;
}

const sections: Section[] = readText(PAGE)
  .split(/^### /m)
  .slice(1)
  .map((section) => ({ code: section.split('\n')[0] ?? '', text: section.split(/^## /m)[0] ?? '' }));

/** Returns the text of a section after a bold word. */
function textAfter({ text }: Section, word: string): string | undefined {
  return new RegExp(`\\*\\*${word}:\\*\\* ([^.;,]+)`).exec(text)?.[1];
}

describe('docs/errors.md', () => {
  it('is compared with all kinds of codes', () => {
    expect(listedCodes).toEqual(
      expect.arrayContaining(['RUN_NOT_FOUND', 'HTTP_FAILED', 'OUT_OF_MEMORY', 'NOT_BUILT', 'EGRESS_DENIED']),
    );
    expect(usedCodes).toEqual(
      expect.arrayContaining(['RUN_TIMEOUT', 'USAGE', 'COUNT_INVALID', 'INPUT_TOO_LARGE', 'UNEXPECTED']),
    );
    expect([listedCodes.length > 50, new Set(usedCodes).size > 50, diagnosticCodes.length > 40]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('has one heading for each code that the sources list or use', () => {
    const headings = sections.map(({ code }) => code);
    expect(headings).toEqual([...new Set(headings)]);
    expect(
      [...new Set([...listedCodes, ...usedCodes, ...diagnosticCodes])].filter(
        (code) => !headings.includes(code),
      ),
    ).toEqual([]);
  });

  it('has no heading for a code that does not exist', () => {
    const knownCodes = new Set([...listedCodes, ...usedCodes, ...diagnosticCodes]);
    expect(sections.filter(({ code }) => !knownCodes.has(code)).map(({ code }) => code)).toEqual([]);
  });

  it('has a hint for each code, and its fault or severity', () => {
    const incompleteSections = sections.filter(
      (section) =>
        !textAfter(section, 'Action') || !(textAfter(section, 'Fault') ?? textAfter(section, 'Severity')),
    );
    expect(incompleteSections.map(({ code }) => code)).toEqual([]);
  });

  it('states the severity of each diagnostic', () => {
    const diagnosticSections = sections.filter(({ code }) => diagnosticCodes.includes(code));
    const mismatchedSections = diagnosticSections.filter(
      (section) =>
        textAfter(section, 'Severity') !==
        DIAGNOSTIC_CODES[section.code as keyof typeof DIAGNOSTIC_CODES].severity,
    );
    expect([diagnosticSections.length, mismatchedSections.map(({ code }) => code)]).toEqual([
      diagnosticCodes.length,
      [],
    ]);
  });

  it('states for each code of the sandbox whether a retry can help, as the sandbox does', () => {
    const codes = codesInUnion(readText('packages/sandbox/src/outcome.ts'), 'JobErrorCode') as JobErrorCode[];
    const mismatchedCodes = codes.filter((code) => {
      const section = sections.find((candidate) => candidate.code === code);
      return section && textAfter(section, 'Retry')?.startsWith('yes') !== createFailure(code, '').retryable;
    });
    expect([codes.length > 10, mismatchedCodes]).toEqual([true, []]);
  });

  it('is compared with codes in every syntactic form', () => {
    const text = `new EngineError('A_B', m); new BlockError(x ? 'C_D' : 'E_F', m); f({ code: 'G' }); createFailure('H_I', m); const code = x ?? 'N_O';
      other('J_K'); new Error('L_M'); if (error.code === 'ENOENT') f({ code: 'ENOENT' });`;
    expect(codesIn('x.ts', text)).toEqual(['A_B', 'C_D', 'E_F', 'G', 'H_I', 'N_O']);
    expect(codesInUnion(`type X = 'A_B' | (string & {}); type Y = 'C_D';`, 'X')).toEqual(['A_B']);
  });
});
