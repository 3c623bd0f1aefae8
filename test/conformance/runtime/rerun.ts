import type { BlockExecutor } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { block, condition, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { TestBlock } from '../../support/workflow.ts';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

/** Returns blocks of the type `work` with these names, which are separated by spaces. */
const workBlocks = (names: string): TestBlock[] => names.split(' ').map((name) => work(name));

interface TestGraph {
  blocks: TestBlock[];
  edges: string[];
}

const SEQUENCE: TestGraph = { blocks: workBlocks('A B C'), edges: ['Start -> A -> B -> C'] };
const FORK: TestGraph = {
  blocks: workBlocks('A B C J Z'),
  edges: ['Start -> A', 'A -> B -> J', 'A -> C -> J', 'J -> Z'],
};
const SIBLINGS: TestGraph = { blocks: workBlocks('A B'), edges: ['Start -> A', 'Start -> B'] };
const NESTED: TestGraph = {
  blocks: [
    work('A'),
    loop(
      'L',
      { loopType: 'for', count: 2 },
      work('I'),
      parallel('P', { parallelType: 'count', count: 2 }, work('K')),
    ),
    fn('Z', 'return <l.results>.length'),
  ],
  edges: ['Start -> A -> L -> I -> P -> K', 'L -> Z'],
};
const CONDITIONAL: TestGraph = {
  blocks: [condition('C', { yes: 'true', no: '' }), ...workBlocks('A B D')],
  edges: ['Start -> C', 'C:yes -> A', 'C:no -> B -> D'],
};

/** The earlier workflow, the block to start from, the blocks that run, and the new workflow if it differs. */
const RERUN_CASES: [
  title: string,
  graph: TestGraph,
  blockName: string,
  executedBlocks: string,
  changedGraph?: TestGraph,
][] = [
  ['the first block: all blocks run', SEQUENCE, 'A', 'A B C'],
  ['a block in a sequence: this block and the following ones run', SEQUENCE, 'B', 'B C'],
  ['the last block: only this block runs', SEQUENCE, 'C', 'C'],
  ['one path of a fork: the path, the join and the following blocks run', FORK, 'B', 'B J Z'],
  ['the join: no block before it runs', FORK, 'J', 'J Z'],
  ['the block before a fork: both paths run, and the join once', FORK, 'A', 'A B C J Z'],
  ['a block beside another: only this block runs', SIBLINGS, 'A', 'A'],
  ['the start: all blocks run again', FORK, 'Start', 'A B C J Z'],
  [
    'a container: all its iterations run, and the following blocks read them',
    NESTED,
    'L',
    'I.0 I.1 K.0.0 K.0.1 K.1.0 K.1.1',
  ],
  ['a block after a container: it reads the results of the container from the earlier run', NESTED, 'Z', ''],
  [
    'a block whose source has been deleted',
    SEQUENCE,
    'B',
    'B C',
    { blocks: workBlocks('B C'), edges: ['Start -> B -> C'] },
  ],
  [
    'a block with another source that ran',
    SEQUENCE,
    'C',
    'C',
    { blocks: workBlocks('A B C'), edges: ['Start -> A -> B', 'A -> C'] },
  ],
  [
    'a block with a new block after it',
    SEQUENCE,
    'C',
    'C D',
    { blocks: workBlocks('A B C D'), edges: ['Start -> A -> B -> C -> D'] },
  ],
];

const REFUSALS: [
  title: string,
  graph: TestGraph,
  blockName: string,
  code: string,
  changedGraph?: TestGraph,
][] = [
  ['an unknown block', SEQUENCE, 'Nope', 'BLOCK_NOT_FOUND'],
  ['a block inside a loop', NESTED, 'I', 'BLOCK_NOT_RESTARTABLE'],
  ['a container inside a container', NESTED, 'P', 'BLOCK_NOT_RESTARTABLE'],
  ['a block inside a parallel', NESTED, 'K', 'BLOCK_NOT_RESTARTABLE'],
  ['a block after one that did not run', CONDITIONAL, 'D', 'BLOCK_NOT_RESTARTABLE'],
  [
    'a block after a new block',
    SEQUENCE,
    'C',
    'BLOCK_NOT_RESTARTABLE',
    { blocks: workBlocks('A B N C'), edges: ['Start -> A -> B -> N -> C'] },
  ],
];

const UNTIL_CASES: [title: string, graph: TestGraph, until: string, executedBlocks: string][] = [
  ['a block: no later block runs', SEQUENCE, 'B', 'A B'],
  ['a container: all its iterations run, no later block', NESTED, 'L', 'A I.0 I.1 K.0.0 K.0.1 K.1.0 K.1.1'],
];

/** Defines the tests of runs that start from a block or stop at one. Rules R6 and R36 are in docs/semantics.md. */
export function describeReruns(makeRuntime: MakeRuntime): void {
  const openEngine = async () => {
    const scriptedExecutor = new ScriptedExecutor({}, ({ block: { name } }) => ({
      output: { blockName: name },
    }));
    return { scriptedExecutor, engine: await makeRuntime().open({ blocks: [scriptedExecutor.executor] }) };
  };
  const sourceOf = ({ blocks, edges }: TestGraph) => ({ workflow: workflow(blocks, edges) });

  describe('a run from', () => {
    it.each(RERUN_CASES)(
      '%s',
      async (_title, ...[graph, blockName, executedBlocks, changedGraph = graph]) => {
        const { scriptedExecutor, engine } = await openEngine();
        const earlierRun = await engine.execute(sourceOf(graph));
        scriptedExecutor.calls.length = 0;
        const run = await engine.runFromBlock(earlierRun.runId, blockName, {
          workflow: sourceOf(changedGraph),
        });
        const result = await run.result();
        expect(result).toMatchObject({ status: 'completed' });
        expect(result.runId).not.toBe(earlierRun.runId);
        expect(scriptedExecutor.calls.toSorted().join(' ')).toBe(executedBlocks);
        if (graph === NESTED) expect(result.output).toMatchObject({ result: 2 });
      },
    );

    it('a container: all its first blocks start before the blocks after them (R6, R36)', async () => {
      const calcExecutor: BlockExecutor = {
        types: ['calc'],
        class: 'compute',
        execute: ({ block: { name } }) => ({ output: { blockName: name } }),
      };
      const engine = await makeRuntime().open({ blocks: [calcExecutor] });
      const innerBlocks = ['A', 'B', 'C'].map((name) => block(name, 'calc'));
      const source = sourceOf({
        blocks: [parallel('P', { parallelType: 'count', count: 2 }, ...innerBlocks)],
        edges: ['Start -> P', 'P -> A -> B', 'P -> C'],
      });
      const earlierRun = await engine.execute(source);
      const rerun = await engine.runFromBlock(earlierRun.runId, 'P');
      const branch = [{ blockName: 'A' }, { blockName: 'C' }, { blockName: 'B' }];
      expect([earlierRun, await rerun.result()]).toMatchObject([
        { output: { results: [branch, branch] } },
        { output: { results: [branch, branch] } },
      ]);
    });

    it.each(REFUSALS)('%s is refused', async (_title, ...[graph, blockName, code, changedGraph = graph]) => {
      const { scriptedExecutor, engine } = await openEngine();
      const earlierRun = await engine.execute(sourceOf(graph));
      scriptedExecutor.calls.length = 0;
      await expect(
        engine.runFromBlock(earlierRun.runId, blockName, { workflow: sourceOf(changedGraph) }),
      ).rejects.toMatchObject({ code });
      expect(scriptedExecutor.calls).toEqual([]);
    });

    it('a block after a partial run: blocks that have not run yet cannot be skipped', async () => {
      const { scriptedExecutor, engine } = await openEngine();
      const partialRun = await engine.execute(sourceOf(SEQUENCE), {}, { until: 'A' });
      await expect(engine.runFromBlock(partialRun.runId, 'C')).rejects.toMatchObject({
        code: 'BLOCK_NOT_RESTARTABLE',
      });
      expect(await (await engine.runFromBlock(partialRun.runId, 'B')).result()).toMatchObject({
        status: 'completed',
      });
      expect(scriptedExecutor.calls).toEqual(['A', 'B', 'C']);
    });

    it('a join: it reads the outputs of its sources from the earlier run, including large values', async () => {
      const { engine } = await openEngine();
      const source = sourceOf({
        blocks: [
          fn('A', 'return "x".repeat(20000)'),
          fn('B', 'return 2'),
          fn('J', 'return <a.result>.length + <b.result>'),
        ],
        edges: ['Start -> A -> J', 'Start -> B -> J'],
      });
      const earlierRun = await engine.execute(source);
      const rerun = await engine.runFromBlock(earlierRun.runId, 'J');
      expect(await rerun.result()).toMatchObject({ output: { result: 20_002 } });
    });

    it('a condition that now chooses another branch: outputs of the former branch are empty', async () => {
      const { engine } = await openEngine();
      const sourceWith = (yesCondition: string) =>
        sourceOf({
          blocks: [
            condition('C', { yes: yesCondition, no: '' }),
            fn('A', 'return "before"'),
            fn('J', 'return <a.result> ?? "empty"'),
          ],
          edges: ['Start -> C', 'C:yes -> A -> J', 'C:no -> J'],
        });
      const earlierRun = await engine.execute(sourceWith('true'));
      const rerun = await engine.runFromBlock(earlierRun.runId, 'C', { workflow: sourceWith('false') });
      expect([earlierRun.output, (await rerun.result()).output]).toMatchObject([
        { result: 'before' },
        { result: 'empty' },
      ]);
    });

    it('another trigger: the trigger of the earlier run keeps its output', async () => {
      const { engine } = await openEngine();
      const source = sourceOf({
        blocks: [
          block('Hook', 'generic_webhook', {}, { triggerMode: true }),
          fn('A', 'return [<start.x>, <hook.y>]'),
        ],
        edges: ['Start -> A', 'Hook -> A'],
      });
      const earlierRun = await engine.execute(source, { x: 1 });
      const rerun = await engine.runFromBlock(earlierRun.runId, 'Hook', { input: { y: 2 } });
      const hookRun = await engine.execute(source, { y: 2 }, { start: 'Hook' });
      expect([earlierRun.output, hookRun.output, (await rerun.result()).output]).toMatchObject([
        { result: [1, null] },
        { result: [null, 2] },
        { result: [1, 2] },
      ]);
    });

    it('a block with edits: references read the replaced outputs, and only fields that are not replaced are resolved', async () => {
      const { engine } = await openEngine();
      const source = sourceOf({
        blocks: [
          fn('A', 'return "before"'),
          fn('B', 'return "kept"'),
          block('R', 'response', { dataMode: 'json', data: '{"is":"<a.result>"}', status: '201' }),
        ],
        edges: ['Start -> A -> B -> R'],
      });
      const earlierRun = await engine.execute(source);
      const largeText = 'y'.repeat(20_000);
      const editedRun = await engine.runFromBlock(earlierRun.runId, 'R', {
        edits: { outputs: { A: { result: largeText } } },
      });
      expect(await editedRun.result()).toMatchObject({ output: { data: { is: largeText }, status: 201 } });
      const data = { is: ['<b.result>', largeText] };
      const rerun = await engine.runFromBlock(earlierRun.runId, 'R', { edits: { fields: { data } } });
      // A field from a caller is a value: references in it are not resolved.
      expect(await rerun.result()).toMatchObject({ output: { data, status: 201 } });
      const [span] = (await engine.getTrace(rerun.runId)).children;
      expect(span?.input && (await engine.readValue(span.input))).toMatchObject({ data });
      const thirdRun = await engine.runFromBlock(rerun.runId, 'B');
      expect((await thirdRun.result()).output).toMatchObject({ data: { is: 'before' } });
    });
  });

  describe('a run until', () => {
    it.each(UNTIL_CASES)('%s', async (_title, graph, until, executedBlocks) => {
      const { scriptedExecutor, engine } = await openEngine();
      expect(await engine.execute(sourceOf(graph), {}, { until })).toMatchObject({ status: 'completed' });
      expect(scriptedExecutor.calls.toSorted().join(' ')).toBe(executedBlocks);
    });

    it.each<[string, string, string]>([
      ['an unknown block', 'Nope', 'BLOCK_NOT_FOUND'],
      ['the trigger', 'Start', 'BLOCK_NOT_RESTARTABLE'],
      ['a block inside a container', 'I', 'BLOCK_NOT_RESTARTABLE'],
    ])('%s is refused', async (_title, until, code) => {
      const { engine } = await openEngine();
      await expect(engine.execute(sourceOf(NESTED), {}, { until })).rejects.toMatchObject({ code });
    });
  });
}
