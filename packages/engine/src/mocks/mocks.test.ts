import { describe, expect, it } from 'vitest';
import type { BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { failureOf } from '../../../../test/support/block.ts';
import { mockResult } from './mock-result.ts';
import { NO_MOCKS, parseMocks } from './mocks.ts';

const BLOCK = { id: 'b1', name: 'My Agent', type: 'agent' };

const mockedResult = (json: Json, execution = 0, block = BLOCK): BlockResult | undefined => {
  const values = parseMocks(json).valuesFor(block);
  return values === undefined ? undefined : mockResult(block, values, execution);
};

describe('mocks', () => {
  it.each(['My Agent', 'myagent', 'MY AGENT', 'b1'])(
    'match a block by the name rules of references, or by its id: %s',
    (name) => {
      expect(mockedResult({ blocks: { [name]: { content: 'hi' } } })).toEqual({ output: { content: 'hi' } });
    },
  );

  it('of a block override those of its type, and other blocks are not mocked', () => {
    const json = { blocks: { 'My Agent': 1 }, types: { agent: 2 } };
    expect(mockedResult(json)).toEqual({ output: { content: 1 } });
    expect(mockedResult({ types: { agent: 2 } })).toEqual({ output: { content: 2 } });
    expect(mockedResult({ types: { slack: {} } })).toBeUndefined();
    expect(mockedResult({ types: { constructor: {} } }, 0, { ...BLOCK, type: 'toString' })).toBeUndefined();
    expect(NO_MOCKS.valuesFor(BLOCK)).toBeUndefined();
  });

  it('return one value per execution of the block in order, and then repeat the last one', () => {
    const json = { types: { agent: [{ n: 1 }, { n: 2 }] } };
    const numberIn = (result: BlockResult | undefined) => (result as { output: JsonObject }).output['n'];
    expect([0, 1, 2, 9].map((execution) => numberIn(mockedResult(json, execution)))).toEqual([1, 2, 2, 2]);
  });

  it.each<[string, Json, JsonObject]>([
    ['agent', 'text', { content: 'text' }],
    ['anything', null, { content: null }],
    ['function', 5, { result: 5, stdout: '' }],
    ['api', 'body', { data: 'body', status: 200, headers: {} }],
  ])('of the type %s may be a shorthand for the main field', (type, value, output) => {
    expect(mockedResult({ types: { [type]: value } }, 0, { ...BLOCK, type })).toEqual({ output });
  });

  it.each<[string, JsonObject, string | undefined]>([
    ['condition', { selectedOption: 'c-if' }, 'condition-c-if'],
    ['router_v2', { selectedRoute: 'r1' }, 'router-r1'],
    ['router', { selectedRoute: 'block-2' }, 'router-block-2'],
    ['condition', { conditionResult: false }, undefined],
    ['agent', { selectedRoute: 'r1', selectedOption: 'x' }, undefined],
  ])('of a %s select the branch that their output names: %j', (type, value, port) => {
    expect(mockedResult({ types: { [type]: value } }, 0, { ...BLOCK, type })).toEqual(
      port === undefined ? { output: value } : { output: value, port },
    );
  });

  it('may be failures with their own code', async () => {
    const json = {
      blocks: {
        b1: [
          { $error: { message: 'down', code: 'RATE_LIMITED', retryable: false } },
          { $error: { message: 'x' } },
        ],
      },
    };
    expect(await failureOf(() => mockedResult(json))).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'down',
      retryable: false,
    });
    expect(await failureOf(() => mockedResult(json, 1))).toMatchObject({
      code: 'BLOCK_FAILED',
      message: 'x',
      retryable: true,
    });
  });

  it.each<[Json, string]>([
    [[], '(all)'],
    [{ block: {} }, 'block'],
    [{ blocks: [] }, 'blocks'],
    [{ blocks: { a: [] } }, 'blocks.a: is an empty list'],
    [{ types: { a: [1, [2]] } }, 'types.a.1: is a list inside'],
    [{ types: { a: { $error: 'down' } } }, 'types.a.$error'],
    [{ types: { a: [{ $error: { message: 'x', code: 'lower' } }] } }, 'types.a.0.$error.code'],
  ])('are rejected with the path of the invalid value if malformed: %j', async (json, message) => {
    expect(await failureOf(() => parseMocks(json))).toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining(message) as string,
    });
  });

  it('report all errors together', async () => {
    const { details } = await failureOf(() => parseMocks({ blocks: { a: [], b: { $error: 1 } }, more: 1 }));
    expect((details as { issues: JsonObject[] }).issues).toHaveLength(3);
  });

  it('report names of unknown blocks, which are usually typing errors', () => {
    expect(parseMocks({ blocks: { 'my agent': 1, b1: 1, Agnet: 1 } }).unusedNames([BLOCK])).toEqual([
      'Agnet',
    ]);
  });

  it('can be restored from the record of the run', () => {
    const json = { blocks: { a: [1] } };
    expect(parseMocks(parseMocks(json).json).json).toEqual(json);
    expect(parseMocks(null)).toBe(NO_MOCKS);
  });
});
