import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readOutcomeCases } from '../conformance/outcomes/cases.ts';
import type { OutcomeCase } from '../conformance/outcomes/cases.ts';
import { sample, sampledSteps } from '../support/scale.ts';
import { block, condition, loop, parallel, workflow } from '../support/workflow.ts';
import { closeSandbox, runWithStop } from './stopped-runs.ts';
import type { WorkflowUnderTest } from './stopped-runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'heddle-steps-'));
let folderCount = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterAll(closeSandbox);
const createFolderPath = (): string => join(folder, String(folderCount++));

const step = (name: string, fields = {}, properties = {}) => block(name, 'step', fields, properties);
const humanBlock = (name: string) => block(name, 'human_in_the_loop', {});
const workflowBlock = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{"x": "<a.n>"}' });

const WORKFLOWS: { [title: string]: WorkflowUnderTest } = {
  'a chain with a condition and a handled failure': {
    workflow: workflow(
      [
        step('A', { n: 1 }),
        condition('C', { yes: '<a.n> == 1', no: '' }),
        step('B', { fail: true }),
        step('H', { reason: '<b.error>' }),
        step('N'),
      ],
      ['Start -> A -> C', 'C:yes -> B', 'B:error -> H', 'C:no -> N'],
    ),
  },
  'a block with several attempts': {
    workflow: workflow(
      [
        step('A', { fail: 1 }, { retry: { enabled: true, maxTries: 3, waitBetweenTriesMs: 100 } }),
        step('Z', { a: '<a.fail>' }),
      ],
      ['Start -> A -> Z'],
    ),
  },
  'a loop with a pause and a wait in it': {
    workflow: workflow(
      [
        loop(
          'L',
          { loopType: 'for', count: 2 },
          step('A', { iteration: '<loop.index>' }),
          humanBlock('H'),
          block('T', 'wait', { timeValue: '5', timeUnit: 'seconds' }),
          step('B', { n: '<h.n>', before: '<b.n>' }),
        ),
        step('Z', { results: '<l.results>' }),
      ],
      ['Start -> L -> A -> H -> T -> B', 'L -> Z'],
    ),
  },
  'a parallel with a loop in it, and a join': {
    workflow: workflow(
      [
        parallel(
          'P',
          { parallelType: 'collection', collection: '["x", "y", "z"]', batchSize: 2 },
          loop('L', { loopType: 'for', count: 2 }, step('A', { item: '<parallel.currentItem>' })),
          step('B', { results: '<l.results>' }),
        ),
        step('S'),
        step('Z', { results: '<p.results>' }),
      ],
      ['Start -> P -> L -> A', 'L -> B', 'P -> Z', 'Start -> S -> Z'],
    ),
  },
  'a child that pauses, and variables': {
    workflow: workflow(
      [
        step('A', { n: 'x'.repeat(10_000) }),
        block('V', 'variables', { variables: [{ variableId: 'v', variableName: 'v', value: 'set' }] }),
        workflowBlock,
        step('Z', { child: '<w.result>', v: '<variable.v>' }),
      ],
      ['Start -> A -> V -> W -> Z'],
      { variables: { v: { type: 'string', value: 'unset' } } },
    ),
    children: [
      workflow([step('X'), humanBlock('H'), step('Y', { n: '<h.n>' })], ['Start -> X -> H -> Y'], {
        id: 'child',
      }),
    ],
  },
  'a block that calls workflows in its steps': {
    workflow: workflow([block('C', 'calls', {}), step('Z', { c: '<c.last>' })], ['Start -> C -> Z']),
    children: [
      workflow(
        [step('X', { name: '<start.name>' }), humanBlock('H'), step('Y', { name: '<x.name>' })],
        ['Start -> X -> H -> Y'],
        { id: 'child' },
      ),
    ],
  },
  'a run that fails while another branch waits for a person': {
    workflow: workflow(
      [step('A'), step('B', { fail: true }), humanBlock('H'), step('D')],
      ['Start -> A -> B', 'Start -> H -> D'],
    ),
  },
};

const stopRange = sampledSteps(4, 'journal writes after which a run is stopped');

/**
 * Stops the run after each sampled journal write in turn, and compares each result with that of an uninterrupted run.
 * Returns the number of journal writes of the uninterrupted run.
 */
async function stopAfterEachWrite(workflowUnderTest: WorkflowUnderTest): Promise<number> {
  const uninterruptedRun = await runWithStop(workflowUnderTest, createFolderPath(), Number.POSITIVE_INFINITY);
  for (
    let maxWrites = stopRange.firstStep - 1;
    maxWrites < uninterruptedRun.writeCount;
    maxWrites += stopRange.stride
  ) {
    const stoppedRun = await runWithStop(workflowUnderTest, createFolderPath(), maxWrites);
    const { result } = uninterruptedRun;
    expect(stoppedRun, `stopped after ${maxWrites} writes`).toMatchObject({
      result,
      repeated: [],
      unrequested: [],
    });
  }
  return uninterruptedRun.writeCount;
}

describe('a run that is stopped after each write of its journal in turn', () => {
  it.each(Object.entries(WORKFLOWS))(
    '%s: has the result of an uninterrupted run',
    async (_title, workflowUnderTest) => {
      expect(await stopAfterEachWrite(workflowUnderTest)).toBeGreaterThan(4);
    },
  );
});

/** Cases with two concurrent answers: only the first answer counts, and a restart may change which answer is first. */
const UNORDERED_CASE_IDS = new Set(['r223']);

/**
 * Recorded workflows with a deterministic result. Failed runs are not among them, because their result depends on the
 * order of concurrent blocks.
 */
const CASES = readOutcomeCases().filter(
  ({ id, compare, outcome, heddle }) =>
    compare === 'full' && outcome.success && !heddle && !outcome.beforeRun && !UNORDERED_CASE_IDS.has(id),
);

describe('recorded workflows that are stopped after each write of their journal', () => {
  const sampledCases = sample(CASES, 5, 'recorded workflows that are stopped after each write');

  it.each(sampledCases.map((outcomeCase): [string, OutcomeCase] => [outcomeCase.id, outcomeCase]))(
    '%s: has the result of an uninterrupted run',
    async (_id, { workflow: recordedWorkflow, input, env }) => {
      const envEntries = Object.entries(env ?? {}).map(([name, value]) => [
        name,
        { value, secret: false as const },
      ]);
      expect(
        await stopAfterEachWrite({ workflow: recordedWorkflow, input, env: Object.fromEntries(envEntries) }),
      ).toBeGreaterThan(1);
    },
  );
});
