import { RunState } from '@heddle/core/run';
import type { EntryBody } from '@heddle/core/run';
import { expect, it } from 'vitest';
import { compilePlan } from '../../support/compile-plan.ts';
import { work } from '../../support/scripted-executor.ts';
import { block, fn, loop, parallel } from '../../support/workflow.ts';
import { RaceDetector } from './race-detector.ts';

const LOOP = loop(
  'L',
  { loopType: 'while', whileCondition: 'true' },
  fn('A', 'return 1'),
  block('B', 'response'),
);

/**
 * A run of a parallel with `branches` branches, each with a while loop of A and the Response B. `edges` are additional
 * edges. The titles of the tests name rules of docs/semantics.md, such as R17.
 */
class Run {
  readonly #runState: RunState;
  readonly #raceDetector: RaceDetector;

  constructor({ branches = 2, graceMs = 0, isPerBlock = false, edges = [] as string[] } = {}) {
    const innerBlocks = [LOOP, fn('M', 'return 3')];
    const blocks = [parallel('P', { parallelType: 'count', count: branches }, ...innerBlocks)];
    const plan = compilePlan(blocks, ['Start -> P -> L -> A -> B', ...edges]);
    this.#runState = new RunState('run', plan);
    this.#raceDetector = new RaceDetector(this.#runState, { isPerBlock });
    const { start } = plan;
    this.#post({ type: 'started', format: 1, start, input: { v: {} }, graceMs, variables: {} });
    this.completes('Start', []);
  }

  get isRacy(): boolean {
    return this.#raceDetector.isRacy;
  }

  /** Records that the condition of the loop of a branch is true. */
  expands(branch: number): this {
    return this.#post({ type: 'expanded', block: 'L', scope: [branch], turn: 0, count: 1 });
  }

  completes(block: string, scope: number[]): this {
    return this.#post({ type: 'completed', block, scope, try: 1, startedMs: 1, output: { v: {} } });
  }

  fails(block: string, scope: number[]): this {
    const error = { code: 'BLOCK_FAILED', message: 'It fails.', retryable: false };
    return this.#post({ type: 'failed', block, scope, try: 1, startedMs: 1, error });
  }

  /** Records that the run makes no progress without the test. */
  becomesIdle(): this {
    this.#raceDetector.recordIdle();
    return this;
  }

  #post(body: EntryBody): this {
    const entry = { seq: this.#runState.seq + 1, atMs: 1, ...body };
    const applyResult = this.#runState.apply(entry);
    if (!applyResult.changed) throw new Error(`${body.type} changed nothing`);
    this.#raceDetector.recordEntry(entry, applyResult);
    return this;
  }
}

it('two conditions are not a race if their branches succeed', () => {
  const run = new Run().expands(0).completes('A', [0, 0]).expands(1).completes('A', [1, 0]);
  expect(run.isRacy).toBe(false);
});

it.each([0, 1000])(
  'a block that fails the run before the second condition races with it, grace period %i ms (R17)',
  (graceMs) => {
    expect(new Run({ graceMs }).expands(0).fails('A', [0, 0]).isRacy).toBe(true);
  },
);

it.each([0, 1000])(
  'a block that fails the run after the second condition races with it, grace period %i ms (R17)',
  (graceMs) => {
    expect(new Run({ graceMs }).expands(0).expands(1).fails('A', [0, 0]).isRacy).toBe(true);
  },
);

it('a Response that ends the run races with the second condition', () => {
  expect(new Run().expands(0).completes('A', [0, 0]).completes('B', [0, 0]).isRacy).toBe(true);
});

it('a failure that an error edge handles races for its position in the journal', () => {
  const run = new Run({ edges: ['A:error -> B'] });
  expect(run.expands(0).isRacy).toBe(false);
  expect(run.fails('A', [0, 0]).isRacy).toBe(true);
});

it('a condition that fails the run races with the other condition', () => {
  expect(new Run().fails('L', [0]).isRacy).toBe(true);
});

it('a condition whose error edge handles its failure is not a race', () => {
  expect(new Run({ edges: ['L:error -> M'] }).fails('L', [0]).isRacy).toBe(false);
});

it('a failure after an idle moment is not a race', () => {
  expect(new Run().expands(0).expands(1).becomesIdle().fails('A', [0, 0]).isRacy).toBe(false);
});

it('a failure after a single condition is not a race', () => {
  expect(new Run({ branches: 1 }).expands(0).fails('A', [0, 0]).isRacy).toBe(false);
});

it.each([
  [
    'an effect with a time limit races with a concurrent block (R21)',
    [work('W', { timeoutMs: 20 }), fn('A', 'return 1')],
    true,
  ],
  [
    'an effect without a time limit does not race with a concurrent block',
    [work('W'), fn('A', 'return 1')],
    false,
  ],
  [
    'an effect with a time limit does not race with one without',
    [work('W', { timeoutMs: 20 }), work('A')],
    false,
  ],
])('%s', (_title, blocks, isRacy) => {
  const plan = compilePlan(blocks, ['Start -> W', 'Start -> A']);
  const runState = new RunState('run', plan);
  const raceDetector = new RaceDetector(runState, { isPerBlock: false });
  const { start } = plan;
  const entries: EntryBody[] = [
    { type: 'started', format: 1, start, input: { v: {} }, graceMs: 0, variables: {} },
    { type: 'completed', block: 'Start', scope: [], try: 1, startedMs: 1, output: { v: {} } },
  ];
  for (const body of entries) {
    const entry = { seq: runState.seq + 1, atMs: 1, ...body };
    raceDetector.recordEntry(entry, runState.apply(entry));
  }
  expect(raceDetector.isRacy).toBe(isRacy);
});

it('two conditions are a race if every block runs in its own activity', () => {
  expect(new Run({ isPerBlock: true }).isRacy).toBe(true);
});
