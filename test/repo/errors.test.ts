import { globSync } from 'node:fs';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { DIAGNOSTIC_CODES } from '../../packages/core/src/plan/diagnostics.ts';
import { failure } from '../../packages/sandbox/src/outcome.ts';
import type { SandboxErrorCode } from '../../packages/sandbox/src/outcome.ts';
import { readText, repository, walk } from './sources.ts';
import { textOf, unionIn } from './unions.ts';

const PAGE = 'docs/errors.md';

/** The types that list codes, with their files. */
const UNIONS: readonly (readonly [file: string, type: string])[] = [
  ['packages/core/src/errors.ts', 'EngineErrorCode'],
  ['packages/core/src/errors.ts', 'BlockErrorCode'],
  ['packages/api/src/errors.ts', 'ApiErrorCode'],
  ['packages/api/src/errors.ts', 'ApiDetailCode'],
  ['packages/sandbox/src/outcome.ts', 'SandboxErrorCode'],
  ['packages/sandbox/src/error.ts', 'SandboxFaultCode'],
  ['packages/sandbox/src/egress/error.ts', 'EgressErrorCode'],
];

/** The nodes that may have an error code: by type, the field with the name, the names, and the field with the code. */
const HOLDERS: Readonly<Record<string, readonly [name: string, names: RegExp, held: string]>> = {
  NewExpression: ['callee', /^(Engine|Block|Sandbox|Egress)Error$/, 'arguments'],
  CallExpression: ['callee', /^(refuse|failure)$/, 'arguments'],
  Property: ['key', /^code$/, 'value'],
  VariableDeclarator: ['id', /^code$/, 'init'],
};

/** Returns the part of a node that may have an error code: the first argument of an error, or the value of `code`. */
function codeNode(node: Record<string, unknown>): unknown {
  const [named, names, field] = HOLDERS[node['type'] as string] ?? ['', /^$/, ''];
  const { name = '-' } = (node[named] ?? {}) as { name?: string };
  if (!names.test(name)) return undefined;
  const held = node[field];
  return Array.isArray(held) ? (held[0] as unknown) : held;
}

/** Returns the error codes that a source throws or returns. */
function givenIn(file: string, text: string): string[] {
  const codes: string[] = [];
  walk(parseSync(file, text).program.body, (node) => {
    walk(codeNode(node), (inner) => codes.push(textOf(inner) ?? ''));
  });
  return codes.filter((code) => code !== '');
}

const listed = UNIONS.flatMap(([file, type]) => unionIn(readText(file), type));
const given = globSync('packages/*/src/**/*.ts', { cwd: repository })
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap((file) => givenIn(file, readText(file)));
const diagnostics = Object.keys(DIAGNOSTIC_CODES);

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
    expect(listed).toEqual(
      expect.arrayContaining(['RUN_NOT_FOUND', 'HTTP_FAILED', 'OUT_OF_MEMORY', 'NOT_BUILT', 'EGRESS_DENIED']),
    );
    expect(given).toEqual(
      expect.arrayContaining(['RUN_TIMEOUT', 'USAGE', 'COUNT_INVALID', 'INPUT_TOO_LARGE', 'UNEXPECTED']),
    );
    expect([listed.length > 50, new Set(given).size > 50, diagnostics.length > 40]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('has one heading for each code that the sources list or use', () => {
    const headings = sections.map(({ code }) => code);
    expect(headings).toEqual([...new Set(headings)]);
    expect(
      [...new Set([...listed, ...given, ...diagnostics])].filter((code) => !headings.includes(code)),
    ).toEqual([]);
  });

  it('has no heading for a code that does not exist', () => {
    const known = new Set([...listed, ...given, ...diagnostics]);
    expect(sections.filter(({ code }) => !known.has(code)).map(({ code }) => code)).toEqual([]);
  });

  it('has a remedy for each code, and its fault or severity', () => {
    const silent = sections.filter(
      (one) => !textAfter(one, 'Do') || !(textAfter(one, 'Fault') ?? textAfter(one, 'Severity')),
    );
    expect(silent.map(({ code }) => code)).toEqual([]);
  });

  it('gives the severity of each diagnostic', () => {
    const shown = sections.filter(({ code }) => diagnostics.includes(code));
    const wrong = shown.filter(
      (one) =>
        textAfter(one, 'Severity') !== DIAGNOSTIC_CODES[one.code as keyof typeof DIAGNOSTIC_CODES].severity,
    );
    expect([shown.length, wrong.map(({ code }) => code)]).toEqual([diagnostics.length, []]);
  });

  it('has for each code of the sandbox whether a retry can help, as in the sandbox', () => {
    const codes = unionIn(
      readText('packages/sandbox/src/outcome.ts'),
      'SandboxErrorCode',
    ) as SandboxErrorCode[];
    const wrong = codes.filter((code) => {
      const section = sections.find((one) => one.code === code);
      return section && textAfter(section, 'Retry')?.startsWith('yes') !== failure(code, '').retryable;
    });
    expect([codes.length > 10, wrong]).toEqual([true, []]);
  });

  it('is compared with codes in every syntactic form', () => {
    const text = `new EngineError('A_B', m); new BlockError(x ? 'C_D' : 'E_F', m); f({ code: 'G' }); failure('H_I', m); const code = x ?? 'N_O';
      other('J_K'); new Error('L_M'); if (error.code === 'ENOENT') f({ code: 'ENOENT' });`;
    expect(givenIn('x.ts', text)).toEqual(['A_B', 'C_D', 'E_F', 'G', 'H_I', 'N_O']);
    expect(unionIn(`type X = 'A_B' | (string & {}); type Y = 'C_D';`, 'X')).toEqual(['A_B']);
  });
});
