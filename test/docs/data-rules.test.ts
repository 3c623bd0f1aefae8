import { createEngine } from '@heddle/engine';
import type { Engine, RunResource } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { block, condition, fn, loop, parallel, workflow } from '../support/workflow.ts';
import type { TestBlock } from '../support/workflow.ts';
import { echoExecutor } from './reference-workflow.ts';

// Titles begin with the ids of the rules in docs/semantics.md that they test.

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({
    blocks: [echoExecutor],
    env: { NAME: { value: '<start.text>', secret: false } },
  });
});

afterAll(() => engine.close());

function setCountBlock(name: string, value: Json): TestBlock {
  return block(name, 'variables', { variables: [{ variableName: 'count', type: 'number', value }] });
}

function run(blocks: TestBlock[], edges: string[], input: Json = {}): Promise<RunResource> {
  const definition = workflow(blocks, edges, { variables: { count: { type: 'number', value: 0 } } });
  return engine.execute({ workflow: definition }, input, {
    select: ['Each.results', 'Read.text', 'After.value'],
  });
}

describe('variables', () => {
  it('are read with their values at the start of the block, even in the next iteration (R42)', async () => {
    const body = [
      block('Read', 'echo', { value: '<variable.count>' }),
      setCountBlock('Set', '<variable.count>1'),
    ];
    const { blockOutputs } = await run(
      [loop('Each', { loopType: 'for', count: 3 }, ...body)],
      ['Start -> Each -> Read -> Set'],
    );
    const iterations = blockOutputs?.['Each.results'] as { value: Json }[][];
    expect(iterations.map(([firstOutput]) => firstOutput?.value)).toEqual([0, 1, 11]);
  });

  it('that a branch has set can be read after the parallel (R42)', async () => {
    const parallelBlock = parallel(
      'Each',
      { parallelType: 'count', count: 2, batchSize: 1 },
      setCountBlock('Set', '<parallel.index>'),
    );
    const { blockOutputs } = await run(
      [parallelBlock, block('After', 'echo', { value: '<variable.count>' })],
      ['Start -> Each -> After', 'Each -> Set'],
    );
    expect(blockOutputs?.['After.value']).toBe(1);
  });
});

describe('data', () => {
  const text = '<start.other> {{NAME}} <variable.count>';

  it('from a reference in a field is not a template (R43)', async () => {
    const { blockOutputs } = await run(
      [block('Read', 'echo', { text: '<start.text>/{{NAME}}' })],
      ['Start -> Read'],
      {
        text,
        other: 'wrong',
      },
    );
    expect(blockOutputs?.['Read.text']).toBe(`${text}/<start.text>`);
  });

  it('from an item or a reference in code and conditions is not a template (R43)', async () => {
    const workBlock = fn('Work', 'return <loop.currentItem>');
    const checkBlock = condition('Check', {
      same: `<work.result> === <start.text> && {{NAME}} !== <start.text>`,
    });
    const { blockOutputs } = await run(
      [
        loop('Each', { loopType: 'forEach', collection: '<start.texts>' }, workBlock),
        checkBlock,
        block('After', 'echo', { value: '<check.conditionResult>' }),
      ],
      ['Start -> Each -> Check -> After', 'Each -> Work'],
      { texts: [text], text, other: 'wrong' },
    );
    expect(blockOutputs?.['After.value']).toBe(true);
  });
});
