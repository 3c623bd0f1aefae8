import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core';
import { work } from '../../support/scripted-executor.ts';
import { condition, fn, loop, parallel } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { sharedTestEngine } from './test-engine.ts';

/** The fields of the loop, the outputs of its block by iteration, and the input of the run. */
const LOOP_CASES: [title: string, data: JsonObject, values: Json[], input?: Json][] = [
  ['a for loop runs as often as its count', { loopType: 'for', count: 3 }, [0, 1, 2]],
  [
    'a while loop evaluates its condition before each iteration',
    { loopType: 'while', whileCondition: '<loop.index> < 2' },
    [0, 1],
  ],
  [
    'a while loop whose condition is false has no iteration',
    { loopType: 'while', whileCondition: 'false' },
    [],
  ],
  ['a while loop without a condition has no iteration', { loopType: 'while' }, []],
  [
    'a do-while loop runs once even if its condition is false, for any count',
    { loopType: 'doWhile', doWhileCondition: 'false', count: 4 },
    [0],
  ],
  [
    'a do-while loop with a condition ignores its count',
    { loopType: 'doWhile', doWhileCondition: '<loop.index> < 3', count: 1 },
    [0, 1, 2],
  ],
  [
    'a do-while loop without a condition runs as often as its count',
    { loopType: 'doWhile', count: 2 },
    [0, 1],
  ],
  [
    'a loop over an empty collection has no iteration',
    { loopType: 'forEach', collection: '<start.none>' },
    [],
    { none: [] },
  ],
  [
    'a loop over an object iterates over its entries',
    { loopType: 'forEach', collection: '<start.of>' },
    [0, 1],
    { of: { a: 1, b: 2 } },
  ],
  [
    'text in a condition stays text, even if it looks like code',
    { loopType: 'while', whileCondition: '<loop.index> < 1 && <start.text> !== "x"' },
    [0],
    { text: '" || true || "\'; throw new Error(`no`); //' },
  ],
];

/** Defines the tests of iterations of loops, and their results. */
export function describeLoops(makeRuntime: MakeRuntime): void {
  describe('loops', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);

    it.each(LOOP_CASES)('%s', async (_title, data, values, input = {}) => {
      const { runWorkflow } = await getTestEngine();
      const body = fn('A', 'return <loop.index>');
      const result = await runWorkflow({
        blocks: [loop('L', data, body), work('Z')],
        edges: ['Start -> L -> A', 'L -> Z'],
        input,
        options: { select: ['L.results'] },
      });
      const results = values.map((value) => [{ result: value, stdout: '' }]);
      expect(result).toMatchObject({
        status: 'completed',
        executedBlocks: 'Z',
        blockOutputs: { 'L.results': results },
      });
    });

    it('the collection of an inner loop may be the item of the outer loop, referenced as `loop` or by the name of the loop', async () => {
      const { runWorkflow } = await getTestEngine();
      const innerLoop = (name: string, collection: string) =>
        loop(name, { loopType: 'forEach', collection }, fn(`In ${name}`, `return <loop.currentItem> * 10`));
      const result = await runWorkflow({
        blocks: [
          loop(
            'Rows',
            { loopType: 'forEach', collection: '[[1, 2], [], [3]]' },
            innerLoop('M', '<loop.currentItem>'),
            innerLoop('N', '<rows.currentItem>'),
          ),
          fn(
            'Z',
            'return <rows.results>.map((iteration) => iteration.map(({ results }) => results.map(([cell]) => cell.result)))',
          ),
        ],
        edges: ['Start -> Rows -> M -> In M', 'M -> N -> In N', 'Rows -> Z'],
      });
      const iterationResults = (...values: number[]): Json => [values, values];
      expect(result.output).toMatchObject({
        result: [iterationResults(10, 20), iterationResults(), iterationResults(30)],
      });
    });

    it('results of a nested container appear once for each of its executions, in the iteration in which it ended', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          loop(
            'L',
            { loopType: 'for', count: 2 },
            parallel(
              'P',
              { parallelType: 'count', count: 2 },
              loop('M', { loopType: 'for', count: 2 }, work('A')),
            ),
            work('B'),
          ),
        ],
        edges: ['Start -> L -> P -> M -> A', 'P -> B'],
        options: { select: ['L.results'] },
      });
      const outputOf = (blockName: string): Json => ({ blockName });
      const innerOutput = { results: [[outputOf('A')], [outputOf('A')]] };
      const iteration = [{ results: [[innerOutput], [innerOutput]] }, outputOf('B')];
      expect(result.blockOutputs?.['L.results']).toEqual([iteration, iteration]);
    });

    it('a loop that contains only a loop runs, and edges across its boundary have no effect', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          loop('L', { loopType: 'for', count: 2 }, loop('M', { loopType: 'for', count: 2 }, work('A'))),
          loop('N', { loopType: 'for', count: 1 }, work('B')),
          work('Z'),
        ],
        edges: ['Start -> L -> M -> A', 'L -> N -> B', 'N -> Z', 'A -> B', 'A -> Z'],
      });
      expect(result).toMatchObject({ status: 'completed', executedBlocks: 'A.0.0 A.0.1 A.1.0 A.1.1 B.0 Z' });
    });

    it.each<[string, string, string]>([
      ['a loop after a loop', 'L', 'M'],
      ['a parallel after a parallel', 'P', 'Q'],
      ['a parallel after a loop', 'L', 'P'],
      ['a loop after a parallel', 'P', 'L'],
    ])('%s starts when the first container has ended', async (_title, first, second) => {
      const { runWorkflow } = await getTestEngine();
      const createContainer = (name: string, blockName: string) =>
        name === 'L' || name === 'M'
          ? loop(name, { loopType: 'for', count: 2 }, work(blockName))
          : parallel(name, { parallelType: 'count', count: 2 }, work(blockName));
      const testRun = {
        blocks: [createContainer(first, 'A'), createContainer(second, 'B'), work('Z')],
        edges: [`Start -> ${first} -> A`, `${first} -> ${second} -> B`, `${second} -> Z`],
      };
      expect(await runWorkflow(testRun)).toMatchObject({
        status: 'completed',
        executedBlocks: 'A.0 A.1 B.0 B.1 Z',
      });
      expect(await runWorkflow({ ...testRun, failingBlocks: ['A'] })).toMatchObject({ status: 'failed' });
      expect((await runWorkflow({ ...testRun, failingBlocks: ['A'] })).executedBlocks).not.toContain('B');
    });

    it('an unhandled failure in an iteration ends the loop and the run', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          loop(
            'L',
            { loopType: 'for', count: 3 },
            work('A'),
            fn('F', 'if (<loop.index> === 1) throw new Error("second"); return 1'),
          ),
          work('Z'),
        ],
        edges: ['Start -> L -> A -> F', 'L -> Z'],
      });
      expect(result).toMatchObject({
        status: 'failed',
        executedBlocks: 'A.0 A.1',
        error: { details: { blockName: 'F' } },
      });
      expect(result.error?.message).toContain('second');
    });

    it('a join waits only for the branch that its own iteration takes', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          condition('C', { yes: 'false', no: '' }),
          loop(
            'L',
            { loopType: 'for', count: 2 },
            condition('D', { a: '<loop.index> === 0', b: '' }),
            ...['A', 'B', 'J'].map((name) => work(name)),
          ),
          work('X'),
        ],
        edges: ['Start -> C', 'C:yes -> X -> L', 'C:no -> L', 'L -> D', 'D:a -> A -> J', 'D:b -> B -> J'],
      });
      expect(result).toMatchObject({ status: 'completed', executedBlocks: 'A.0 B.1 J.0 J.1' });
    });
  });
}
