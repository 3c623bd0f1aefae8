import type { Json } from '@heddle/core';
import type { Engine, ExecuteOptions } from '@heddle/engine';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { block, condition, fn, loop, parallel, workflow } from '../../support/workflow.ts';

/** A run with a stored history. */
export interface TestWorkflow {
  name: string;
  workflow: Json;
  /** The child workflows that `workflow` calls. */
  children?: readonly Json[];
  options?: ExecuteOptions;
  /** `continueAsNewAfter` of the deployment. */
  continueAsNewAfter?: number;
  /** `localSegments` of the deployment. */
  localSegments?: boolean;
  /** Ends the run. Undefined if the run ends without further action. */
  finish?(engine: Engine, runId: string, scriptedExecutor: ScriptedExecutor): Promise<unknown>;
}

const RETRY = { enabled: true, maxTries: 3, waitBetweenTriesMs: 10 };

/**
 * Returns the executor of the blocks of the type `work`: `Flaky` fails in its first two attempts, `A` answers
 * immediately, and `Slow` waits for the test.
 */
export function createGoldenExecutor(): ScriptedExecutor {
  return new ScriptedExecutor({
    Flaky: (context) => {
      if (context.attempt < 3) throw new Error('not yet');
      return { output: { tries: context.attempt } };
    },
    A: (context) => ({ output: { at: [...context.scope] } }),
  });
}

/** Runs of this version of Heddle, one for each feature. */
export const TEST_WORKFLOWS: readonly TestWorkflow[] = [
  {
    name: 'line',
    workflow: workflow(
      [fn('F', 'return 1'), work('A'), fn('Z', 'return <f.result>')],
      ['Start -> F -> A -> Z'],
    ),
  },
  {
    name: 'condition',
    workflow: workflow(
      [condition('C', { yes: '<start.n> > 1', no: '' }), work('A'), fn('B', 'return 2')],
      ['Start -> C', 'C:yes -> A', 'C:no -> B'],
    ),
  },
  {
    name: 'loops',
    workflow: workflow(
      [
        loop(
          'L',
          { loopType: 'for', count: 3 },
          work('A'),
          loop(
            'M',
            { loopType: 'while', whileCondition: '<loop.index> < 2' },
            fn('F', 'return <loop.index>'),
          ),
        ),
      ],
      ['Start -> L -> A -> M -> F'],
    ),
  },
  {
    name: 'parallel',
    workflow: workflow(
      [parallel('P', { parallelType: 'count', count: 4 }, work('A')), fn('Z', 'return <p.results>.length')],
      ['Start -> P -> A', 'P -> Z'],
    ),
  },
  {
    name: 'retries',
    workflow: workflow([work('Flaky', { retry: RETRY }), fn('Z', 'return 1')], ['Start -> Flaky -> Z']),
  },
  {
    name: 'pause',
    workflow: workflow([block('H', 'human_in_the_loop'), fn('Z', 'return <h.n>')], ['Start -> H -> Z']),
    finish: async (engine, runId) => engine.resume(runId, { input: { n: 1 } }),
  },
  {
    name: 'wait',
    workflow: workflow([block('W', 'wait', { timeValue: '0.1' }), work('A')], ['Start -> W -> A']),
  },
  {
    name: 'child',
    workflow: workflow(
      [block('W', 'workflow', { workflowId: 'golden-child' }), work('A')],
      ['Start -> W -> A'],
    ),
    children: [workflow([work('A')], ['Start -> A'], { id: 'golden-child', name: 'Child' })],
  },
  {
    name: 'time-out',
    workflow: workflow([work('Slow', { timeoutMs: 50 }), work('A')], ['Start -> Slow', 'Slow:error -> A']),
  },
  {
    name: 'cancel',
    workflow: workflow([work('Slow')], ['Start -> Slow']),
    finish: async (engine, runId, scriptedExecutor) => {
      await scriptedExecutor.nextCall('Slow');
      return engine.cancel(runId, 'enough');
    },
  },
  { name: 'deadline', workflow: workflow([work('Slow')], ['Start -> Slow']), options: { timeoutMs: 300 } },
  { name: 'failed', workflow: workflow([fn('F', 'throw new Error("no")'), work('A')], ['Start -> F -> A']) },
  {
    name: 'continued',
    workflow: workflow(
      [loop('L', { loopType: 'for', count: 8 }, work('A')), block('H', 'human_in_the_loop')],
      ['Start -> L -> A', 'Start -> H'],
    ),
    continueAsNewAfter: 4,
    finish: async (engine, runId) => engine.resume(runId, { input: {} }),
  },
  {
    name: 'segments-elsewhere',
    workflow: workflow([fn('F', 'return 1'), work('A'), fn('Z', 'return 2')], ['Start -> F -> A -> Z']),
    localSegments: false,
  },
];
