import { describe, expect, it } from 'vitest';
import { isBlockError } from '../errors.ts';
import type { Json } from '../json.ts';
import type { ContainerValues, Lookup } from './lookup.ts';
import { buildNames, type NamedBlock } from './names.ts';
import type { TemplateContext } from './read-tag.ts';
import { resolveReference, resolveTemplate } from './resolve.ts';
import { compileTemplate, findSingleReference } from './text.ts';

const block = (id: string, type = 'function', parentId?: string): NamedBlock => ({
  id,
  name: id,
  type,
  enabled: true,
  ...(parentId === undefined ? {} : { parentId }),
});
const names = buildNames(
  [
    block('p'),
    block('q'),
    block('open'),
    block('reply', 'response'),
    block('child', 'workflow_input'),
    block('for', 'loop'),
    block('each', 'loop'),
    block('fan', 'parallel'),
    block('in', 'function', 'for'),
    block('in each', 'function', 'each'),
    block('in fan', 'function', 'fan'),
  ],
  [{ id: 'v', name: 'v' }],
);
const jsonOutput = { type: 'json', opaque: true };
const textOutput = { type: 'string', opaque: false };
const declaredOutputs: Record<string, Record<string, typeof jsonOutput>> = {
  p: { result: jsonOutput, stdout: textOutput },
  q: { result: jsonOutput, stdout: textOutput },
  reply: { data: jsonOutput, status: { type: 'number', opaque: false } },
  child: { result: jsonOutput, success: textOutput },
};

interface LookupData {
  outputs?: Record<string, Json>;
  containers?: Record<string, ContainerValues>;
  results?: Record<string, Json>;
  variable?: Json;
  env?: Record<string, string>;
}

function lookup(data: LookupData): Lookup {
  return {
    block: ({ block: id }) => {
      const output = data.outputs?.[id];
      return output === undefined ? { ran: false } : { ran: true, output };
    },
    container: ({ block: id }) => data.containers?.[id],
    results: ({ block: id }) => data.results?.[id],
    variable: () => data.variable,
    env: (name) => data.env?.[name],
    describe: (id) => {
      const fields = declaredOutputs[id];
      return {
        name: id.toUpperCase(),
        type: names.blocks.get(id)?.type ?? '',
        ...(fields && { outputs: { fields } }),
      };
    },
  };
}

function resolve(
  authored: Json,
  data: LookupData,
  { blockId = 'q', mode = 'text' as 'text' | 'native' } = {},
): Json {
  const context: TemplateContext = { names, blockId, fieldPosition: 'ordinary' };
  return resolveTemplate(compileTemplate(authored, context).template, lookup(data), mode);
}

function errorOf(act: () => unknown): { code: string; message: string; retryable: boolean } {
  try {
    act();
  } catch (error) {
    if (isBlockError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const value = { a: 1, s: 'it\'s "q"', n: null, b: true, l: [1, { k: 'v' }], e: '', z: 0, __proto__x: 1 };
const dataOfP: LookupData = { outputs: { p: { result: value, stdout: '' } } };

describe('a text', () => {
  it.each([
    ['<p.result.a>', '1'],
    ['<p.result.s>', 'it\'s "q"'],
    ['<p.result.n>', 'null'],
    ['<p.result.b>', 'true'],
    ['<p.result.l>', '[1,{"k":"v"}]'],
    ['<p.result.l[1].k>', 'v'],
    ['<p.result.l.length>', '2'],
    ['<p.result.s.length>', ''],
    ['<p.result.e>', ''],
    ['<p.result.z>', '0'],
    ['<p.result.nope.deeper>', ''],
    ['<p.result.l[-1]>', ''],
    ['<p.result.>', ''],
    ['<p.result.constructor>', ''],
    ['{"v": "<p.result.nope>"}', '{"v": ""}'],
    ['a <p.result.a> b <p.result.a>', 'a 1 b 1'],
  ])('%s becomes %j (V68-V93)', (authored, expected) => {
    expect(resolve(authored, dataOfP)).toBe(expected);
  });

  it('is empty for every path if the block did not run (V68-V77)', () => {
    expect(resolve('[<p.result>][<p.nothing.at.all>][<p>]', {})).toBe('[][][]');
  });

  it('keeps the type of its only reference in native mode', () => {
    const nativeMode = { mode: 'native' as const };
    expect(
      resolve({ a: '<p.result.l>', b: 'x <p.result.l>', c: '<p.result.n>' }, dataOfP, nativeMode),
    ).toEqual({
      a: [1, { k: 'v' }],
      b: 'x [1,{"k":"v"}]',
      c: null,
    });
    const list = ['<p.result.nope>', '<p.result.a>', ' <p.result.a>'];
    expect(resolve(list, dataOfP, nativeMode)).toEqual(['', 1, ' 1']);
  });

  it('never reads data as a template', () => {
    const data: LookupData = {
      outputs: { p: { result: '{{K}} <p.stdout> <p.nothing>' } },
      env: { K: '{{L}} <p.result>', L: 'secret' },
    };
    expect(resolve('<p.result>|{{K}}', data)).toBe('{{K}} <p.stdout> <p.nothing>|{{L}} <p.result>');
    expect(resolve('{<p.result>}', { outputs: { p: { result: '{K}' } }, env: { K: 'secret' } })).toBe(
      '{{K}}',
    );
  });

  it('has placeholders by exact name, and leaves unknown ones in place (V121-V137)', () => {
    const env = { K: 'v"\n', EMPTY: '', ' K ': 'spaced' };
    expect(resolve('{{K}}|{{EMPTY}}|{{NOPE}}|{{ K }}|{{k}}', { env })).toBe('v"\n||{{NOPE}}|spaced|{{k}}');
    expect(resolve('{{ K }}', { env: { K: 'v' } })).toBe('{{ K }}');
  });

  it('resolves deeply and keeps unusual keys as own properties', () => {
    const authored = JSON.parse('{"__proto__": ["<p.result.a>", 2], "b": {"c": "<p.result.b>"}}') as Json;
    const resolved = resolve(authored, dataOfP);
    expect(JSON.stringify(resolved)).toBe('{"__proto__":["1",2],"b":{"c":"true"}}');
    expect(Object.getPrototypeOf(resolved)).toBe(Object.prototype);
  });
});

describe('a missing path in a block that ran', () => {
  it.each([
    '<p.nothing>',
    '<p.Result>',
    '<p..result>',
    '<p.>',
    '<p.stdout.deeper>',
    '<p.toString>',
    '<p.[0]>',
  ])('%s is outside the declared outputs: an error that lists them (V68-V77, r307)', (authored) => {
    const error = errorOf(() => resolve(`a ${authored}`, dataOfP));
    expect(error).toMatchObject({ code: 'REFERENCE_UNRESOLVED', retryable: false });
    expect(error.message).toContain(authored);
    expect(error.message).toContain('block "P"');
    expect(error.message).toContain('Available fields: result, stdout');
  });

  it('is empty if it is declared, or if no outputs are declared', () => {
    expect(resolve('[<p.stdout>]', { outputs: { p: { result: 1 } } })).toBe('[]');
    expect(resolve('[<open.anything.below>]', { outputs: { open: {} } })).toBe('[]');
  });

  it('is not missing if the output has it, although it is not declared (r012)', () => {
    expect(resolve('<p.extra>', { outputs: { p: { extra: 'e' } } })).toBe('e');
  });

  it('is empty for the error of a block that succeeded', () => {
    expect(resolve('[<p.error>][<p.error.message>][<q.error>]', dataOfP)).toBe('[][][]');
    expect(resolve('<p.error>', { outputs: { p: { error: 'boom' } } })).toBe('boom');
  });
});

describe('older forms', () => {
  it.each([
    ['<reply.response.data.k>', { data: { k: 1 } }, '1'],
    ['<reply.data.k>', { data: { k: 1 } }, '1'],
    ['<reply.response>', { data: 1 }, '{"data":1}'],
    ['<reply.response.data>', { data: 'outer', response: { data: 'inner' } }, 'inner'],
  ])('%s of a Response block with %j is %j (V94-V100)', (authored, output, expected) => {
    expect(resolve(authored, { outputs: { reply: output } })).toBe(expected);
  });

  it.each([
    ['<child.result.response.data>', { result: { data: 'd' } }, 'd'],
    ['<child.result.data>', { result: { data: 'd' } }, 'd'],
    ['<child.result.response.data>', { result: { response: { data: 'inner' } } }, 'inner'],
    ['[<child.result.response.data>]', { success: false, error: 'x' }, '[]'],
  ])('%s of a child workflow with %j is %j (V101-V114)', (authored, output, expected) => {
    expect(resolve(authored, { outputs: { child: output } })).toBe(expected);
  });

  it('are not read for other blocks', () => {
    expect(resolve('[<p.result.response.a>]', dataOfP)).toBe('[]');
    expect(errorOf(() => resolve('<p.response.result>', dataOfP)).code).toBe('REFERENCE_UNRESOLVED');
  });
});

describe('a container reference', () => {
  const containers = { each: { index: 1, currentItem: { k: null }, items: ['a', { k: null }] } };

  it('has index, item and items of the iteration', () => {
    const authored = '<loop.index>|<loop.iteration>|<loop.item>|<each.items>|<loop>';
    expect(resolve(authored, { containers }, { blockId: 'in each' })).toBe(
      '1|1|{"k":null}|["a",{"k":null}]|{"index":1,"currentItem":{"k":null},"items":["a",{"k":null}]}',
    );
  });

  it('without a value stays text if generic (<loop.…>), and is empty if it names the container (r428, r431, r550)', () => {
    const authored = '<loop.currentItem>|<loop.results>|<loop>|<for.currentItem>|<for.results>';
    expect(resolve(authored, { containers: { for: { index: 0 } } }, { blockId: 'in' })).toBe(
      '<loop.currentItem>|<loop.results>|{"index":0}||',
    );
    expect(resolve('<loop.item.k>|<loop.item.k.d[0]>', { containers }, { blockId: 'in each' })).toBe(
      'null|<loop.item.k.d[0]>',
    );
  });

  it('of a counting parallel has no items (r596)', () => {
    const data = { containers: { fan: { index: 1 } } };
    expect(resolve('<parallel>|<parallel.items>|<parallel.currentItem>', data, { blockId: 'in fan' })).toBe(
      '{"index":1,"items":[]}|[]|<parallel.currentItem>',
    );
  });

  it('refers to the results after the end of the container', () => {
    const data = { results: { each: [[{ result: 7 }]] } };
    expect(resolve('<each>|<each.results>|<each.result[0][0].result>|<for>|<for.results>', data)).toBe(
      '{"results":[[{"result":7}]]}|[[{"result":7}]]|7||',
    );
  });

  it('fails if it can never be valid, but only when the block is reached (r423, r427)', () => {
    const error = errorOf(() => resolve('<for.index>', {}));
    expect(error).toMatchObject({ code: 'REFERENCE_UNRESOLVED', retryable: false });
    expect(error.message).toContain('Available fields: results');
  });
});

describe('resolveReference', () => {
  const resolveSingle = (authored: string, data: LookupData, blockId = 'q') => {
    const { reference } = findSingleReference(authored, { names, blockId, fieldPosition: 'ordinary' });
    if (reference === undefined) throw new Error(`${authored} is not a reference`);
    return resolveReference(reference, lookup(data));
  };

  it('returns the value, or undefined if the reference is empty (r465, r471, r491)', () => {
    expect(resolveSingle('<p.result.l>', dataOfP)).toEqual([1, { k: 'v' }]);
    expect(resolveSingle('<p.result.n>', dataOfP)).toBeNull();
    expect(resolveSingle('<p.result.zz>', dataOfP)).toBeUndefined();
    expect(resolveSingle('<p.result>', {})).toBeUndefined();
    expect(resolveSingle('<variable.v[1]>', { variable: ['a', 'b'] })).toBe('b');
    expect(resolveSingle('<variable.v.none>', { variable: { k: 1 } })).toBeUndefined();
  });

  it('throws if the reference has no value, because there is no authored text to keep', () => {
    const error = errorOf(() =>
      resolveSingle('<loop.currentItem>', { containers: { for: { index: 0 } } }, 'in'),
    );
    expect(error.code).toBe('REFERENCE_UNRESOLVED');
    expect(error.message).toContain('<loop.currentItem>');
  });
});
