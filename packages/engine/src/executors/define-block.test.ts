import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contextOf, failureOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { defineBlock } from './define-block.ts';

const greet = defineBlock({
  type: 'greet',
  input: z.object({
    name: z.string(),
    times: z.coerce.number().int().default(1),
    note: z.string().optional(),
  }),
  output: z.object({
    text: z.string(),
    length: z.number().int(),
    parts: z.array(z.string()),
    extra: z.object({ key: z.string() }),
  }),
  run: ({ name, times }, context) => {
    const text = `Hello ${name}! `.repeat(times).trim();
    return { text, length: text.length, parts: [text], extra: { key: context.idempotencyKey } };
  },
});

const run = (block: typeof greet, fixture: BlockFixture): unknown =>
  block.execute(contextOf({ type: 'greet', ...fixture }));

describe('defineBlock', () => {
  it('passes typed fields with resolved references, and validates the output', async () => {
    expect(
      await run(greet, {
        params: { name: '<p.who>', times: '2', note: null },
        outputs: { P: { who: 'Ada' } },
      }),
    ).toEqual({
      output: {
        text: 'Hello Ada! Hello Ada!',
        length: 21,
        parts: ['Hello Ada! Hello Ada!'],
        extra: { key: 'run-1/self/2/0' },
      },
    });
  });

  it('declares outputs and required fields for validation of graphs', () => {
    expect(greet).toMatchObject({
      types: ['greet'],
      class: 'effect',
      outputs: { text: 'string', length: 'number', parts: 'array', extra: 'json' },
      required: ['name'],
    });
  });

  it('declares no outputs and no required fields if the schemas list none', () => {
    const openBlock = defineBlock({
      type: 'open',
      class: 'compute',
      input: z.record(z.string(), z.unknown()),
      output: z.looseObject({ a: z.string() }).transform((value) => ({ a: value.a })),
      run: () => ({ a: 'x' }),
    });
    expect(openBlock).toMatchObject({ class: 'compute' });
    expect(openBlock.outputs).toBeUndefined();
    expect(openBlock.required).toBeUndefined();
  });

  it('lists every invalid field', async () => {
    const failure = await failureOf(() => run(greet, { params: { name: 5, times: 'many' } }));
    expect(failure).toMatchObject({
      code: 'BLOCK_CONFIG_INVALID',
      retryable: false,
      details: { issues: [{ path: 'name' }, { path: 'times' }] },
    });
    expect(failure.message).toMatch(/"greet".*name: .*; times: /);
  });

  it('fails if the output is invalid or is not a JSON object', async () => {
    const invalidOutput = defineBlock({
      type: 'greet',
      input: z.object({}),
      output: z.object({ n: z.number() }),
      run: () => JSON.parse('{"n": "x"}') as { n: number },
    });
    expect(await failureOf(() => run(invalidOutput, {}))).toMatchObject({
      code: 'BLOCK_FAILED',
      message: expect.stringContaining('n: ') as string,
    });
    const listOutput = defineBlock({
      type: 'greet',
      input: z.object({}),
      run: () => JSON.parse('[1]') as { [key: string]: string },
    });
    expect(await failureOf(() => run(listOutput, {}))).toMatchObject({ code: 'BLOCK_FAILED' });
  });

  it('rethrows the error of `run`', async () => {
    const failingBlock = defineBlock({
      type: 'greet',
      input: z.object({}),
      run: () => Promise.reject(new Error('down')),
    });
    await expect(run(failingBlock, {})).rejects.toThrow('down');
  });
});
