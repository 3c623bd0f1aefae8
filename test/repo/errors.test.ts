import { globSync } from 'node:fs';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { DIAGNOSTIC_CODES } from '../../packages/core/src/plan/diagnostics.ts';
import { failure } from '../../packages/sandbox/src/outcome.ts';
import type { SandboxErrorCode } from '../../packages/sandbox/src/outcome.ts';
import { readText, repository, walk } from './sources.ts';
import { textOf, unionIn } from './unions.ts';

const PAGE = 'docs/errors.md';

/** The types that list codes, and where they stand. */
const UNIONS: readonly (readonly [file: string, type: string])[] = [
  ['packages/core/src/errors.ts', 'EngineErrorCode'],
  ['packages/core/src/errors.ts', 'BlockErrorCode'],
  ['packages/api/src/errors.ts', 'ApiErrorCode'],
  ['packages/api/src/errors.ts', 'ApiDetailCode'],
  ['packages/sandbox/src/outcome.ts', 'SandboxErrorCode'],
  ['packages/sandbox/src/error.ts', 'SandboxFaultCode'],
  ['packages/sandbox/src/egress/error.ts', 'EgressErrorCode'],
];

/** The nodes that may hold a code which is given: by type, where their name stands, which names, and what holds it. */
const HOLDERS: Readonly<Record<string, readonly [name: string, names: RegExp, held: string]>> = {
  NewExpression: ['callee', /^(Engine|Block|Sandbox|Egress)Error$/, 'arguments'],
  CallExpression: ['callee', /^(refuse|failure)$/, 'arguments'],
  Property: ['key', /^code$/, 'value'],
  VariableDeclarator: ['id', /^code$/, 'init'],
};

/** What of a node may hold a code that is given: the first argument of an error, or what is called `code`. */
function holder(node: Record<string, unknown>): unknown {
  const [named, names, field] = HOLDERS[node['type'] as string] ?? ['', /^$/, ''];
  const { name = '-' } = (node[named] ?? {}) as { name?: string };
  if (!names.test(name)) return undefined;
  const held = node[field];
  return Array.isArray(held) ? (held[0] as unknown) : held;
}

/** Codes as the sources give them. */
function givenIn(file: string, text: string): string[] {
  const codes: string[] = [];
  walk(parseSync(file, text).program.body, (node) => {
    walk(holder(node), (inner) => codes.push(textOf(inner) ?? ''));
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

/** What a section says behind a bold word. */
function said({ text }: Section, word: string): string | undefined {
  return new RegExp(`\\*\\*${word}:\\*\\* ([^.;,]+)`).exec(text)?.[1];
}

describe('docs/errors.md', () => {
  it('is compared with codes of every kind', () => {
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

  it('has one heading for each code that the sources list or give', () => {
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

  it('says of each what to do, and whose fault it is or how severe', () => {
    const silent = sections.filter(
      (one) => !said(one, 'Do') || !(said(one, 'Fault') ?? said(one, 'Severity')),
    );
    expect(silent.map(({ code }) => code)).toEqual([]);
  });

  it('gives the severity of each diagnostic', () => {
    const shown = sections.filter(({ code }) => diagnostics.includes(code));
    const wrong = shown.filter(
      (one) => said(one, 'Severity') !== DIAGNOSTIC_CODES[one.code as keyof typeof DIAGNOSTIC_CODES].severity,
    );
    expect([shown.length, wrong.map(({ code }) => code)]).toEqual([diagnostics.length, []]);
  });

  it('says of each code of the sandbox whether it may be tried again, as the sandbox does', () => {
    const codes = unionIn(
      readText('packages/sandbox/src/outcome.ts'),
      'SandboxErrorCode',
    ) as SandboxErrorCode[];
    const wrong = codes.filter((code) => {
      const section = sections.find((one) => one.code === code);
      return section && said(section, 'Retry')?.startsWith('yes') !== failure(code, '').retryable;
    });
    expect([codes.length > 10, wrong]).toEqual([true, []]);
  });

  it('is compared with codes in every form in which they are given', () => {
    const text = `new EngineError('A_B', m); new BlockError(x ? 'C_D' : 'E_F', m); f({ code: 'G' }); failure('H_I', m); const code = x ?? 'N_O';
      other('J_K'); new Error('L_M'); if (error.code === 'ENOENT') f({ code: 'ENOENT' });`;
    expect(givenIn('x.ts', text)).toEqual(['A_B', 'C_D', 'E_F', 'G', 'H_I', 'N_O']);
    expect(unionIn(`type X = 'A_B' | (string & {}); type Y = 'C_D';`, 'X')).toEqual(['A_B']);
  });
});
