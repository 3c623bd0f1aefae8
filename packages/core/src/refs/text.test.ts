import { describe, expect, it } from 'vitest';
import type { ReferenceFinding } from './reference-finding.ts';
import { envNamesIn, referencesIn } from './template.ts';
import { buildNames, type NamedBlock } from './names.ts';
import type { TemplateContext } from './read-tag.ts';
import { compileTemplate, findSingleReference } from './text.ts';

const block = (id: string, name: string, properties: Partial<NamedBlock> = {}): NamedBlock => ({
  id,
  name,
  type: 'function',
  enabled: true,
  ...properties,
});
const names = buildNames(
  [
    block('s', 'Start'),
    block('p', 'P'),
    block('off', 'Off', { enabled: false }),
    block('ab', 'A+B'),
    block('l', 'Loop 1', { type: 'loop' }),
  ],
  [{ id: 'v', name: 'My Var' }],
);
const context: TemplateContext = { names, blockId: 's', fieldPosition: 'ordinary' };
const compile = (text: string) => compileTemplate(text, context);
const formatFindings = (findings: readonly ReferenceFinding[]) =>
  findings.map(({ kind, name }) => `${kind} ${name}`);

describe('a compiled field value', () => {
  it('has parts of authored text, references and placeholders', () => {
    expect(compile('a <start.x> b {{ K }} <p>').template).toEqual({
      kind: 'text',
      parts: [
        'a ',
        { ref: { kind: 'block', text: '<start.x>', block: 's', up: 0, into: [], path: ['x'] } },
        ' b ',
        { env: ' K ', text: '{{ K }}' },
        ' ',
        { ref: { kind: 'block', text: '<p>', block: 'p', up: 0, into: [], path: [] } },
      ],
    });
  });

  it.each([
    'a < 5 && b > 3',
    '<nosuch.x>',
    '<b>bold</b> <br/> <div class="x.y">',
    '< start.x >',
    '<a+b.result>',
    '<start.odd key>',
    '<loop.index>',
    '<variable>',
    '<start.x',
    '{{}} {K} {{a',
    '',
    '\u0000\ud800 \u2028',
  ])('%j has nothing to resolve and is unchanged', (text) => {
    expect(compile(text).template).toEqual({ kind: 'literal', value: text });
  });

  it('has a template for each string in objects and arrays, but not for keys', () => {
    const { template } = compileTemplate(
      { '<start.x>': [{ deep: '<start.x>' }, 1, null], plain: { a: ['b'] } },
      context,
    );
    expect(template).toMatchObject({
      kind: 'object',
      entries: [
        [
          '<start.x>',
          {
            kind: 'list',
            items: [{ kind: 'object' }, { kind: 'literal', value: 1 }, { kind: 'literal', value: null }],
          },
        ],
        ['plain', { kind: 'literal', value: { a: ['b'] } }],
      ],
    });
    expect(referencesIn(template).map(({ text }) => text)).toEqual(['<start.x>']);
  });

  it('lists all its references, and its placeholders without duplicates', () => {
    const { template } = compile('<start.a>{{K}}<start.a>{{L}}{{K}}<variable.My Var>');
    expect(referencesIn(template).map(({ text }) => text)).toEqual([
      '<start.a>',
      '<start.a>',
      '<variable.My Var>',
    ]);
    expect(envNamesIn(template)).toEqual(['K', 'L']);
  });

  it('finds a placeholder between braces of JSON text', () => {
    expect(envNamesIn(compile('{"a":{"b":{{N}}}}').template)).toEqual(['N']);
  });

  it('finds a reference between the braces of a placeholder', () => {
    expect(referencesIn(compile('{{<start.x>}}').template)).toHaveLength(1);
  });
});

describe('the compilation of text', () => {
  it('reports nothing for tags without a path, comparisons and malformed tags', () => {
    expect(compile('<div> <br> <b,c> a <5 b> c <x+y.z> < p.x > <start.odd key>').findings).toEqual([]);
  });

  it('reports an unknown root with a path, and suggests a block', () => {
    expect(compile('see <strat.x> and <far.away>').findings).toEqual([
      {
        kind: 'unknown-block',
        text: '<strat.x>',
        name: 'strat',
        syntaxPosition: 'text',
        offset: 4,
        hasPath: true,
        suggestion: 'start',
        distance: 1,
      },
      {
        kind: 'unknown-block',
        text: '<far.away>',
        name: 'far',
        syntaxPosition: 'text',
        offset: 18,
        hasPath: true,
      },
    ]);
  });

  it('suggests no name for <loop.index> outside a loop (r428)', () => {
    expect(compile('<loop.index>').findings).toEqual([
      {
        kind: 'unknown-block',
        text: '<loop.index>',
        name: 'loop',
        syntaxPosition: 'text',
        offset: 0,
        hasPath: true,
      },
    ]);
  });

  it('reports unknown variables, HTML elements that are blocks, and blocks that never run', () => {
    expect(formatFindings(compile('<variable.My Vra> <p> <P.x> <off.result>').findings)).toEqual([
      'unknown-variable My Vra',
      'html-name p',
      'disabled-block off',
    ]);
  });
});

describe('a single reference', () => {
  it.each(['<start.x>', '<Start>', '<variable.My Var>', '<p.result[0].x>'])('%s is a reference', (text) => {
    expect(findSingleReference(text, context)).toMatchObject({ reference: { text } });
  });

  it.each([
    ' <start.x>',
    '<start.x> ',
    '<start.x><start.y>',
    'x<start.x>',
    '[<start.x>]',
    '{{K}}',
    '',
    '5',
    '<start.odd key>',
  ])('%j is not a reference, and nothing is reported about it (r475)', (text) => {
    expect(findSingleReference(text, context)).toEqual({ findings: [] });
  });

  it('to an unknown block or variable is an error in code (r490)', () => {
    expect(findSingleReference('<nosuch.result>', context)).toMatchObject({
      findings: [{ kind: 'unknown-block', syntaxPosition: 'code' }],
    });
    expect(findSingleReference('<variable.ghost>', context)).toMatchObject({
      findings: [{ kind: 'unknown-variable', syntaxPosition: 'code' }],
    });
    expect(findSingleReference('<nosuch>', context)).toMatchObject({
      findings: [{ kind: 'unknown-block', hasPath: false }],
    });
  });
});
