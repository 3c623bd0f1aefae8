import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { condition, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { sharedTestEngine } from './test-engine.ts';

const ITEMS = '["a", "b", "c", "d", "e"]';

/** Defines the tests of branches of parallels: their concurrency (R9 of docs/semantics.md), scope and results. */
export function describeParallels(makeRuntime: MakeRuntime): void {
  describe('parallels', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);

    it('with a concurrency of two the next branch starts as soon as one ends, and results are ordered by branch (R9)', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const definition = workflow(
        [parallel('P', { parallelType: 'count', count: 4, batchSize: 2 }, work('A')), work('Z')],
        ['Start -> P -> A', 'P -> Z'],
      );
      const run = await engine.start({ workflow: definition }, {}, { select: ['P.results'] });
      const firstCall = await scriptedExecutor.nextCall('A.0');
      (await scriptedExecutor.nextCall('A.1')).complete({ n: 1 });
      (await scriptedExecutor.nextCall('A.2')).complete({ n: 2 });
      const lastCall = await scriptedExecutor.nextCall('A.3');
      // Blocks that start together may be called in any order.
      expect(scriptedExecutor.calls.toSorted()).toEqual(['A.0', 'A.1', 'A.2', 'A.3']);
      lastCall.complete({ n: 3 });
      firstCall.complete({ n: 0 });
      (await scriptedExecutor.nextCall('Z')).complete();
      expect(await run.result()).toMatchObject({
        status: 'completed',
        blockOutputs: { 'P.results': [0, 1, 2, 3].map((n) => [{ n }]) },
      });
    });

    it('blocks after a parallel wait for its last branch', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const definition = workflow(
        [parallel('P', { parallelType: 'count', count: 2 }, work('A')), work('X'), work('J')],
        ['Start -> P -> A', 'Start -> X -> J', 'P -> J'],
      );
      const run = await engine.start({ workflow: definition });
      (await scriptedExecutor.nextCall('X')).complete();
      (await scriptedExecutor.nextCall('A.1')).complete();
      const slowCall = await scriptedExecutor.nextCall('A.0');
      expect(scriptedExecutor.calls.toSorted()).toEqual(['A.0', 'A.1', 'X']);
      slowCall.complete();
      (await scriptedExecutor.nextCall('J')).complete();
      expect(await run.result()).toMatchObject({ status: 'completed' });
    });

    it('indexes and items refer to the whole parallel at any concurrency', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          parallel(
            'P',
            { parallelType: 'collection', collection: ITEMS, batchSize: 2 },
            fn('A', 'return <parallel.index> + <parallel.currentItem> + <p.index> + <parallel.items>.length'),
          ),
          fn('Z', 'return [<p.results>.map(([output]) => output.result), <a.result>]'),
        ],
        edges: ['Start -> P -> A', 'P -> Z'],
      });
      expect(result.output).toMatchObject({ result: [['0a05', '1b15', '2c25', '3d35', '4e45'], '0a05'] });
    });

    it('a block reads only blocks of its own branch, at any depth', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          fn('Top', 'return "t"'),
          parallel(
            'P',
            { parallelType: 'count', count: 2 },
            fn('A', 'return <parallel.index>'),
            parallel(
              'Q',
              { parallelType: 'count', count: 2, batchSize: 1 },
              fn('B', 'return <parallel.index>'),
              fn('D', 'return <top.result> + <a.result> + <b.result> + <p.index> + <q.index>'),
            ),
            fn('E', 'return <q.results>.map(([, last]) => last.result)'),
          ),
          fn('Z', 'return <p.results>.map((branch) => branch.at(-1).result)'),
        ],
        edges: ['Start -> Top -> P -> A -> Q -> B -> D', 'Q -> E', 'P -> Z'],
      });
      expect(result.output).toMatchObject({
        result: [
          ['t0000', 't0101'],
          ['t1010', 't1111'],
        ],
      });
    });

    it('a block that did not run in a branch has no output there, even if it ran in other branches', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          parallel(
            'P',
            { parallelType: 'count', count: 3, batchSize: 1 },
            condition('C', { yes: '<parallel.index> === 0', no: '' }),
            fn('A', 'return "mine"'),
            fn('B', 'return <a.result> ?? "none"'),
          ),
          fn('Z', 'return <p.results>.map((branch) => branch.at(-1).result)'),
        ],
        edges: ['Start -> P -> C', 'C:yes -> A -> B', 'C:no -> B', 'P -> Z'],
      });
      expect(result.output).toMatchObject({ result: ['mine', 'none', 'none'] });
    });

    it('a condition reads and returns the output of the preceding block in its own branch', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          parallel(
            'P',
            { parallelType: 'count', count: 3 },
            fn('A', 'return <parallel.index> * 10'),
            condition('C', { big: 'context.result > 5', small: '' }),
            fn('B', 'return ["big", <c.result>]'),
            fn('D', 'return ["small", <c.result>]'),
          ),
          fn('Z', 'return <p.results>.map((branch) => branch.at(-1).result)'),
        ],
        edges: ['Start -> P -> A -> C', 'C:big -> B', 'C:small -> D', 'P -> Z'],
      });
      expect(result.output).toMatchObject({
        result: [
          ['small', 0],
          ['big', 10],
          ['big', 20],
        ],
      });
    });

    it('three nested parallels run all their branches, each with its own indexes', async () => {
      const { runWorkflow } = await getTestEngine();
      const twoBranches = { parallelType: 'count', count: 2 };
      const result = await runWorkflow({
        blocks: [
          parallel(
            'P',
            twoBranches,
            parallel(
              'M',
              twoBranches,
              parallel('I', twoBranches, fn('A', 'return "" + <p.index> + <m.index> + <parallel.index>')),
            ),
          ),
          fn(
            'Z',
            'return <p.results>.flatMap(([m]) => m.results.flatMap(([i]) => i.results.map(([a]) => a.result)))',
          ),
        ],
        edges: ['Start -> P -> M -> I -> A', 'P -> Z'],
      });
      expect(result.output).toMatchObject({
        result: ['000', '001', '010', '011', '100', '101', '110', '111'],
      });
    });

    it('a parallel over an empty collection is skipped, even if it had branches in an earlier iteration', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          loop(
            'L',
            { loopType: 'forEach', collection: '[[1, 2], [3], [], [4, 5]]' },
            parallel(
              'P',
              { parallelType: 'collection', collection: '<loop.currentItem>' },
              fn('A', 'return <parallel.currentItem>'),
            ),
            fn('B', 'return <p.results>.map(([output]) => output.result)'),
          ),
          fn('Z', 'return <l.results>.map((iteration) => iteration.at(-1).result)'),
        ],
        edges: ['Start -> L -> P -> A', 'P -> B', 'L -> Z'],
      });
      expect(result.output).toMatchObject({ result: [[1, 2], [3], [], [4, 5]] });
    });

    it('a parallel after a parallel without branches runs all its branches', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          parallel('P', { parallelType: 'collection', collection: '[]' }, work('A')),
          parallel('Q', { parallelType: 'count', count: 2 }, work('B')),
          work('Z'),
        ],
        edges: ['Start -> P -> A', 'P -> Q -> B', 'Q -> Z'],
        options: { select: ['P.results'] },
      });
      expect(result).toMatchObject({
        status: 'completed',
        executedBlocks: 'B.0 B.1 Z',
        blockOutputs: { 'P.results': [] },
      });
    });

    it('a container at the end of the run provides the output of the run', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [parallel('P', { parallelType: 'count', count: 3, batchSize: 1 }, work('A'))],
        edges: ['Start -> P -> A'],
      });
      expect(result.output).toMatchObject({
        results: [[{ blockName: 'A' }], [{ blockName: 'A' }], [{ blockName: 'A' }]],
      });
    });

    it('no branch starts after a failure in another branch', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [parallel('P', { parallelType: 'count', count: 5, batchSize: 1 }, work('A')), work('Z')],
        edges: ['Start -> P -> A', 'P -> Z'],
        failingBlocks: ['A'],
      });
      expect(result).toMatchObject({ status: 'failed', executedBlocks: 'A.0' });
    });
  });
}
