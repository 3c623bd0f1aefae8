import { describe, expect, it } from 'vitest';
import { work } from '../../support/scripted-executor.ts';
import { block, condition, loop, parallel, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { openTestEngine, sharedTestEngine } from './test-engine.ts';
import type { TestRun } from './test-engine.ts';

interface Case extends TestRun {
  title: string;
  /** The `work` blocks that ran, sorted. */
  executedBlocks: string;
}

/** Returns blocks of the type `work` with these names, which are separated by spaces. */
const workBlocks = (names: string) => names.split(' ').map((name) => work(name));

/** Returns a condition in which only the row `trueRow` is true, without an else row. */
const conditionBlock = (name: string, trueRow: string, ...rows: string[]) =>
  condition(name, Object.fromEntries(rows.map((row) => [row, row === trueRow ? 'true' : 'false'])));

const SHARED_HANDLER = {
  blocks: workBlocks('A B H Z'),
  edges: ['Start -> A -> Z', 'Start -> B -> Z', 'A:error -> H', 'B:error -> H'],
};

const threeRowTestRun = (trueRow: string): TestRun => ({
  blocks: [conditionBlock('C', trueRow, 'if', 'elseif', 'third'), ...workBlocks('A B J')],
  edges: ['Start -> C', 'C:if -> A', 'C:elseif -> B', 'C:third -> A', 'A -> J', 'B -> J'],
});

const CASES: Case[] = [
  {
    title: 'a sequence of blocks runs to its end',
    blocks: workBlocks('A B C'),
    edges: ['Start -> A -> B -> C'],
    executedBlocks: 'A B C',
  },
  {
    title: 'a fork runs all its paths, and a join after them once',
    blocks: workBlocks('A B C J'),
    edges: ['Start -> A -> J', 'Start -> B -> J', 'Start -> C -> J'],
    executedBlocks: 'A B C J',
  },
  {
    title: 'two edges to one target: the first of the rows leads there',
    ...threeRowTestRun('if'),
    executedBlocks: 'A J',
  },
  {
    title: 'two edges to one target: another row leads to another block',
    ...threeRowTestRun('elseif'),
    executedBlocks: 'B J',
  },
  {
    title: 'two edges to one target: the last of the rows leads there',
    ...threeRowTestRun('third'),
    executedBlocks: 'A J',
  },
  {
    title: 'a condition without a match ends all of its paths',
    ...threeRowTestRun('none'),
    executedBlocks: '',
  },
  {
    title: 'blocks on a path not taken never run, at any length of the path',
    blocks: [conditionBlock('C', 'no', 'yes', 'no'), ...workBlocks('A B D E Z')],
    edges: ['Start -> C', 'C:yes -> A -> B -> D -> E', 'C:no -> Z'],
    executedBlocks: 'Z',
  },
  {
    title: 'a join after a long path not taken runs, even if its other source was done earlier',
    blocks: [conditionBlock('C', 'no', 'yes', 'no'), ...workBlocks('X A B D J')],
    edges: ['Start -> X -> J', 'X -> C', 'C:yes -> A -> B -> D -> J'],
    executedBlocks: 'J X',
  },
  {
    title: 'a diamond after a condition joins again, and the following block runs once',
    blocks: [conditionBlock('C', 'yes', 'yes', 'no'), ...workBlocks('A B J Z')],
    edges: ['Start -> C', 'C:yes -> A -> J', 'C:no -> B -> J', 'J -> Z'],
    executedBlocks: 'A J Z',
  },
  {
    title: 'successive conditions choose independently',
    blocks: [
      conditionBlock('C', 'b', 'a', 'b'),
      conditionBlock('D', 'c', 'c', 'd'),
      ...workBlocks('A B X Y'),
    ],
    edges: ['Start -> C', 'C:a -> A', 'C:b -> D', 'D:c -> X', 'D:d -> Y', 'A -> B'],
    executedBlocks: 'X',
  },
  {
    title: 'a block after three conditions runs once, when one of them leads to it',
    blocks: [
      conditionBlock('C', 'x', 'x'),
      conditionBlock('D', 'n', 'x'),
      conditionBlock('E', 'x', 'x'),
      ...workBlocks('T'),
    ],
    edges: ['Start -> C', 'Start -> D', 'Start -> E', 'C:x -> T', 'D:x -> T', 'E:x -> T'],
    executedBlocks: 'T',
  },
  {
    title: 'a block that succeeds prunes its error path to the end',
    blocks: workBlocks('A B H I'),
    edges: ['Start -> A -> B', 'A:error -> H -> I'],
    executedBlocks: 'A B',
  },
  {
    title: 'a block that fails prunes its normal path to the end',
    blocks: workBlocks('A B C H I'),
    edges: ['Start -> A -> B -> C', 'A:error -> H -> I'],
    failingBlocks: ['A'],
    executedBlocks: 'A H I',
  },
  {
    title: 'both ports to one block: the block runs after a success',
    blocks: workBlocks('A B'),
    edges: ['Start -> A -> B', 'A:error -> B'],
    executedBlocks: 'A B',
  },
  {
    title: 'both ports to one block: the block runs after a failure',
    blocks: workBlocks('A B'),
    edges: ['Start -> A -> B', 'A:error -> B'],
    failingBlocks: ['A'],
    executedBlocks: 'A B',
  },
  {
    title: 'a shared handler runs when only the first block fails',
    ...SHARED_HANDLER,
    failingBlocks: ['A'],
    executedBlocks: 'A B H Z',
  },
  {
    title: 'a shared handler runs when only the second block fails',
    ...SHARED_HANDLER,
    failingBlocks: ['B'],
    executedBlocks: 'A B H Z',
  },
  {
    title: 'a shared handler runs once when both blocks fail',
    ...SHARED_HANDLER,
    failingBlocks: ['A', 'B'],
    executedBlocks: 'A B H',
  },
  { title: 'a shared handler does not run when nothing fails', ...SHARED_HANDLER, executedBlocks: 'A B Z' },
  {
    title: 'the handles of the four sides, and an empty one, are the normal exit',
    blocks: workBlocks('A B C D E F'),
    edges: [
      'Start -> A',
      'A:source-top -> B',
      'A:source-right -> C',
      'A:source-bottom -> D',
      'A:source-left -> E',
      'A: -> F',
    ],
    executedBlocks: 'A B C D E F',
  },
  {
    title: 'the handle of a side is not taken when its block fails',
    blocks: workBlocks('A B H'),
    edges: ['Start -> A', 'A:source-right -> B', 'A:error -> H'],
    failingBlocks: ['A'],
    executedBlocks: 'A H',
  },
  {
    title: 'an unknown handle counts as the normal exit',
    blocks: workBlocks('A B'),
    edges: ['Start -> A', 'A:wherever -> B'],
    executedBlocks: 'A B',
  },
  {
    title: 'an edge of a missing row is never taken',
    blocks: [conditionBlock('C', 'x', 'x'), ...workBlocks('A B')],
    edges: ['Start -> C', 'C:x -> A', 'C:gone -> B'],
    executedBlocks: 'A',
  },
  {
    title:
      'containers on a path not taken are not entered, their collections not evaluated, and no later block runs',
    blocks: [
      conditionBlock('C', 'no', 'yes', 'no'),
      loop('L', { loopType: 'forEach', collection: '<start.number>' }, work('A')),
      parallel('P', { parallelType: 'collection', collection: '<start.number>' }, work('B')),
      ...workBlocks('D Z'),
    ],
    edges: ['Start -> C', 'C:yes -> L -> A', 'L -> P -> B', 'P -> D', 'C:no -> Z'],
    input: { number: 5 },
    executedBlocks: 'Z',
  },
  {
    title: 'a condition that chooses a row without an edge does not start a container after the other row',
    blocks: [
      conditionBlock('C', 'none', 'none', 'some'),
      parallel('P', { parallelType: 'count', count: 2 }, work('A')),
      ...workBlocks('Z'),
    ],
    edges: ['Start -> C', 'C:some -> P -> A', 'P -> Z'],
    executedBlocks: '',
  },
];

/** Defines the tests of the blocks that run: joins, conditions, error ports, paths not taken. */
export function describePaths(makeRuntime: MakeRuntime): void {
  describe('paths', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);

    it.each(CASES.map((testCase) => [testCase.title, testCase] as const))('%s', async (_title, testCase) => {
      const { runWorkflow } = await getTestEngine();
      expect(await runWorkflow(testCase)).toMatchObject({
        status: 'completed',
        executedBlocks: testCase.executedBlocks,
      });
    });

    it('a router activates only the selected route', async () => {
      const router = (port: string) => ({
        types: ['router_v2', 'router'],
        class: 'effect' as const,
        execute: () => ({ output: {}, port }),
      });
      const routes = [
        { id: 'a', title: 'a', value: 'first' },
        { id: 'b', title: 'b', value: 'second' },
      ];
      const testRun: TestRun = {
        blocks: [block('R', 'router_v2', { routes }), ...workBlocks('A B')],
        edges: ['Start -> R', 'R:router-a -> A', 'R:router-b -> B'],
      };
      const secondRouteEngine = await openTestEngine(makeRuntime, { blocks: [router('router-b')] });
      expect(await secondRouteEngine.runWorkflow(testRun)).toMatchObject({
        status: 'completed',
        executedBlocks: 'B',
      });
      const olderRouterTestRun: TestRun = {
        blocks: [block('R', 'router'), ...workBlocks('A B')],
        edges: ['Start -> R', 'R -> A', 'R -> B'],
      };
      const namedBlockEngine = await openTestEngine(makeRuntime, { blocks: [router('router-A')] });
      expect(await namedBlockEngine.runWorkflow(olderRouterTestRun)).toMatchObject({
        status: 'completed',
        executedBlocks: 'A',
      });
      const unknownRouteEngine = await openTestEngine(makeRuntime, { blocks: [router('router-x')] });
      const skippedParallel = parallel('P', { parallelType: 'count', count: 2 }, work('C'));
      const parallelTestRun: TestRun = {
        blocks: [block('R', 'router_v2', { routes }), skippedParallel, ...workBlocks('Z')],
        edges: ['Start -> R', 'R:router-a -> P -> C', 'P -> Z'],
      };
      expect(await unknownRouteEngine.runWorkflow(parallelTestRun)).toMatchObject({
        status: 'completed',
        executedBlocks: '',
      });
    });

    it('edges to unknown blocks are refused, and ignored with compat', async () => {
      const { engine, runWorkflow } = await getTestEngine();
      const testRun: TestRun = { blocks: workBlocks('A B'), edges: ['Start -> A -> B', 'A -> Ghost'] };
      await expect(runWorkflow(testRun)).rejects.toMatchObject({ code: 'WORKFLOW_INVALID' });
      const source = { workflow: workflow(testRun.blocks, testRun.edges), compat: true };
      expect(await engine.execute(source)).toMatchObject({ status: 'completed', output: { blockName: 'B' } });
    });
  });
}
