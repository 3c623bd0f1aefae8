import { BlockError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { Engine, RunResource } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { block, condition, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { TestBlock } from '../../support/workflow.ts';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const variablesBlock = (name: string, variableName: string, value: Json): TestBlock =>
  block(name, 'variables', { variables: [{ variableName, type: 'string', value }] });

/**
 * Returns a workflow with a loop that contains a parallel. Each iteration appends its item to a variable, so that an
 * iteration that runs twice is visible.
 */
function nestedWorkflow(items = '["x", "y", "z"]') {
  const blocks = [
    work('A'),
    loop(
      'L',
      { loopType: 'forEach', collection: items },
      variablesBlock('V', 'text', '<variable.text><loop.currentItem>'),
      work('I'),
      parallel(
        'P',
        { parallelType: 'collection', collection: '[1, 2, 3]', batchSize: 2 },
        work('K'),
        work('M'),
      ),
      variablesBlock('S', 'seen', '<i.execution>'),
      work('J'),
    ),
    fn('Z', 'return [<variable.text>, <variable.seen>]'),
  ];
  const edges = ['Start -> A -> L -> V -> I -> P -> K -> M', 'P -> S -> J', 'L -> Z'];
  const variables = { text: { type: 'string', value: '' }, seen: { type: 'string', value: '' } };
  return { workflow: workflow(blocks, edges, { variables }) };
}

const executionsIn = (iteration: number): string[] => [
  `I.${iteration}`,
  `J.${iteration}`,
  ...[0, 1, 2].flatMap((branch) => [`K.${iteration}.${branch}`, `M.${iteration}.${branch}`]),
];

/** The block to start from, its iteration numbers, and the blocks that run. */
const RERUN_CASES: [title: string, block: string, iterations: number[], expectedExecutions: string[]][] = [
  ['the first block of an iteration', 'V', [1], [...executionsIn(1), ...executionsIn(2)]],
  ['a block in a branch', 'K', [1, 2], ['K.1.2', 'M.1.2', 'J.1', ...executionsIn(2)]],
  ['the last block in a branch', 'M', [2, 0], ['M.2.0', 'J.2']],
  [
    'a container in an iteration',
    'P',
    [2],
    executionsIn(2).filter((execution) => !execution.startsWith('I')),
  ],
  ['the last block of the first iteration', 'J', [0], ['J.0', ...executionsIn(1), ...executionsIn(2)]],
];

type Refusal = [
  title: string,
  block: string,
  iterations: number[] | undefined,
  code: string,
  message: RegExp,
];

const REFUSALS: Refusal[] = [
  ['without iteration numbers', 'K', undefined, 'BLOCK_NOT_RESTARTABLE', /inside the container "L"/],
  ['with too few iteration numbers', 'K', [0], 'OPTIONS_INVALID', /give 2 numbers/],
  [
    'with iteration numbers for a block outside containers',
    'A',
    [0],
    'OPTIONS_INVALID',
    /give no iteration numbers/,
  ],
  ['in an iteration that did not run', 'I', [3], 'BLOCK_NOT_RESTARTABLE', /iteration 3 of "L" did not run/],
  ['in a branch that did not run', 'K', [0, 9], 'BLOCK_NOT_RESTARTABLE', /branch 9 of "P" did not run/],
  ['in an iteration below the first', 'I', [-1], 'BLOCK_NOT_RESTARTABLE', /iteration -1/],
];

interface ObservedRun {
  calls: string[];
  /**
   * For each execution, such as `K.1.2`, the number of the call that returned its result. Kept results have lower
   * numbers.
   */
  callNumbers: Map<string, number>;
  result: RunResource;
}

/** Defines the tests of runs that start inside an iteration or a branch. */
export function describeRerunsInContainers(makeRuntime: MakeRuntime): void {
  const openEngine = async () => {
    const failingExecutions = new Set<string>();
    let callCount = 0;
    const scriptedExecutor = new ScriptedExecutor({}, ({ block: { name }, scope }) => {
      const execution = [name, ...scope].join('.');
      callCount += 1;
      if (failingExecutions.has(execution)) throw new BlockError('BLOCK_FAILED', `${execution} fails`);
      return { output: { execution, callNumber: callCount } };
    });
    const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
    const runAndObserve = async (run: () => Promise<RunResource>): Promise<ObservedRun> => {
      scriptedExecutor.calls.length = 0;
      const result = await run();
      const matches = JSON.stringify(result.blockOutputs ?? {}).matchAll(
        /"execution":"([^"]+)","callNumber":(\d+)/g,
      );
      return {
        ...{ result, calls: [...scriptedExecutor.calls].toSorted() },
        callNumbers: new Map(
          [...matches].map(([, execution = '', callNumber]) => [execution, Number(callNumber)]),
        ),
      };
    };
    return { engine, failingExecutions, runAndObserve };
  };
  const select = ['L.results'];
  const runFrom =
    (engine: Engine, runId: string, blockName: string, options: Parameters<Engine['runFromBlock']>[2]) =>
    async () =>
      (await engine.runFromBlock(runId, blockName, { select, ...options })).result();
  const completedWith = (result: Json) => ({ status: 'completed', output: { result } });

  describe('a run that starts inside a container', () => {
    it.each(RERUN_CASES)(
      'at %s: earlier iterations and blocks keep their results',
      async (_title, blockName, iterations, expectedExecutions) => {
        const { engine, runAndObserve: observe } = await openEngine();
        const earlierRun = await observe(() => engine.execute(nestedWorkflow(), {}, { select }));
        expect(earlierRun.result).toMatchObject(completedWith(['xyz', 'I.2']));
        const rerun = await observe(runFrom(engine, earlierRun.result.runId, blockName, { iterations }));
        expect(rerun.result).toMatchObject(completedWith(['xyz', 'I.2']));
        expect(rerun.calls).toEqual(expectedExecutions.toSorted());
        expect([...rerun.callNumbers.keys()].toSorted()).toEqual(
          [...earlierRun.callNumbers.keys()].toSorted(),
        );
        const keptResults = [...earlierRun.callNumbers].filter(
          ([execution]) => !expectedExecutions.includes(execution),
        );
        expect(keptResults.map(([execution]) => [execution, rerun.callNumbers.get(execution)])).toEqual(
          keptResults,
        );
        expect(
          expectedExecutions.filter(
            (execution) => rerun.callNumbers.get(execution) === earlierRun.callNumbers.get(execution),
          ),
        ).toEqual([]);
      },
    );

    it.each(REFUSALS)('%s is refused', async (_title, ...[blockName, iterations, code, message]) => {
      const { engine } = await openEngine();
      const earlierRun = await engine.execute(nestedWorkflow());
      await expect(
        engine.runFromBlock(earlierRun.runId, blockName, { ...(iterations && { iterations }) }),
      ).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
    });

    it('at a failed branch: unfinished branches run too, finished branches keep their results', async () => {
      const { engine, failingExecutions, runAndObserve: observe } = await openEngine();
      const source = {
        workflow: workflow(
          [parallel('L', { parallelType: 'count', count: 5, batchSize: 2 }, work('K'), work('M')), work('Z')],
          ['Start -> L -> K -> M', 'L -> Z'],
        ),
      };
      failingExecutions.add('M.1');
      const earlierRun = await observe(() => engine.execute(source, {}, { select }));
      expect(earlierRun.result.status).toBe('failed');
      failingExecutions.clear();
      const { runId } = earlierRun.result;
      const logs = await engine.getLogs(runId);
      const completedLogs = logs.filter(
        ({ blockName, status }) => blockName === 'M' && status === 'completed',
      );
      const finishedBranches = new Set(completedLogs.map(({ container }) => container?.index));
      const rerun = await observe(runFrom(engine, runId, 'M', { iterations: [1] }));
      expect(rerun.result.status).toBe('completed');
      const rerunBranches = [0, 2, 3, 4].filter((branch) => rerun.calls.includes(`K.${branch}`));
      expect(rerun.calls).toEqual(
        ['M.1', 'Z', ...rerunBranches.flatMap((branch) => [`K.${branch}`, `M.${branch}`])].toSorted(),
      );
      expect(
        [0, 2, 3, 4].filter((branch) => !rerunBranches.includes(branch) && !finishedBranches.has(branch)),
      ).toEqual([]);
      expect([...rerun.callNumbers.keys()]).toEqual(
        [0, 1, 2, 3, 4].flatMap((branch) => [`K.${branch}`, `M.${branch}`]),
      );
    });

    it('in a while loop: its condition is evaluated before the next iteration', async () => {
      const { engine, runAndObserve: observe } = await openEngine();
      const source = {
        workflow: workflow(
          [loop('L', { loopType: 'while', whileCondition: '<loop.index> < 3' }, work('B'), work('C'))],
          ['Start -> L -> B -> C'],
        ),
      };
      const earlierRun = await observe(() => engine.execute(source, {}, { select }));
      const rerun = await observe(runFrom(engine, earlierRun.result.runId, 'C', { iterations: [1] }));
      expect(rerun.calls).toEqual(['B.2', 'C.1', 'C.2']);
      expect([...rerun.callNumbers.keys()]).toEqual(['B.0', 'C.0', 'B.1', 'C.1', 'B.2', 'C.2']);
    });

    it('at a block after a condition: only in an iteration that took its branch', async () => {
      const { engine, runAndObserve: observe } = await openEngine();
      const source = {
        workflow: workflow(
          [
            loop(
              'L',
              { loopType: 'for', count: 2 },
              condition('C', { first: '<loop.index> === 0', other: '' }),
              work('B'),
              work('D'),
            ),
          ],
          ['Start -> L -> C', 'C:first -> B -> D'],
        ),
      };
      const { runId } = await engine.execute(source);
      await expect(engine.runFromBlock(runId, 'D', { iterations: [1] })).rejects.toMatchObject({
        code: 'BLOCK_NOT_RESTARTABLE',
        message: expect.stringContaining('"B", which leads to it, did not run there') as string,
      });
      const rerun = await observe(runFrom(engine, runId, 'D', { iterations: [0] }));
      expect(rerun).toMatchObject({ calls: ['D.0'], result: { status: 'completed' } });
    });

    it('with edits: they replace fields of the block in that iteration only, and outputs of earlier blocks', async () => {
      const { engine, runAndObserve: observe } = await openEngine();
      const { runId } = await engine.execute(nestedWorkflow());
      const variables = [{ variableName: 'text', type: 'string', value: '!' }];
      const runWithFields = await observe(
        runFrom(engine, runId, 'V', { iterations: [1], edits: { fields: { variables } } }),
      );
      expect(runWithFields.result).toMatchObject(completedWith(['!z', 'I.2']));
      const largeText = 'I'.repeat(20_000);
      const outputs = { I: { execution: largeText, callNumber: 99 } };
      const runWithOutputs = await observe(
        runFrom(engine, runId, 'P', { iterations: [2], edits: { outputs } }),
      );
      expect(runWithOutputs.result).toMatchObject(completedWith(['xyz', largeText]));
      const { callNumbers } = runWithOutputs;
      expect([callNumbers.get(largeText), callNumbers.has('I.2'), callNumbers.has('I.1')]).toEqual([
        99,
        false,
        true,
      ]);
      for (const id of ['J', 'K'])
        await expect(
          engine.runFromBlock(runId, 'P', { iterations: [2], edits: { outputs: { [id]: {} } } }),
        ).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
    });

    it('after a run that itself started inside an iteration: only in iterations that this run executed', async () => {
      const { engine, runAndObserve: observe } = await openEngine();
      const firstRun = await observe(() => engine.execute(nestedWorkflow(), {}, { select }));
      const secondRun = await observe(runFrom(engine, firstRun.result.runId, 'M', { iterations: [1, 1] }));
      const { runId } = secondRun.result;
      const thirdRun = await observe(runFrom(engine, runId, 'J', { iterations: [1] }));
      expect(thirdRun.calls).toEqual(['J.1', ...executionsIn(2)].toSorted());
      expect(thirdRun.result).toMatchObject(completedWith(['xyz', 'I.2']));
      const keptResults = [...secondRun.callNumbers].filter(
        ([execution]) => !thirdRun.calls.includes(execution),
      );
      expect(keptResults.map(([execution]) => [execution, thirdRun.callNumbers.get(execution)])).toEqual(
        keptResults,
      );
      for (const [blockName, iterations] of [
        ['K', [1, 1]],
        ['K', [1, 0]],
        ['I', [1]],
        ['I', [0]],
      ] as const)
        await expect(engine.runFromBlock(runId, blockName, { iterations })).rejects.toMatchObject({
          code: 'BLOCK_NOT_RESTARTABLE',
          message: expect.stringContaining('Start from the run that executed it') as string,
        });
      const lastRun = await observe(runFrom(engine, runId, 'L', {}));
      expect(lastRun.calls).toEqual([0, 1, 2].flatMap(executionsIn).toSorted());
    });

    it('with a changed workflow: its collection determines the later iterations', async () => {
      const { engine, runAndObserve: observe } = await openEngine();
      const { runId } = await engine.execute(nestedWorkflow());
      const changedOptions = { workflow: nestedWorkflow('["x", "y", "z", "w"]'), iterations: [2] };
      const rerun = await observe(runFrom(engine, runId, 'J', changedOptions));
      expect(rerun.calls).toEqual(['J.2', ...executionsIn(3)].toSorted());
      expect(rerun.result).toMatchObject(completedWith(['xyzw', 'I.3']));
      await expect(
        engine.runFromBlock(runId, 'J', { workflow: nestedWorkflow('["x"]'), iterations: [1] }),
      ).rejects.toMatchObject({ code: 'BLOCK_NOT_RESTARTABLE' });
    });
  });
}
