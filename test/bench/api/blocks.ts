import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockExecutor, Json } from '@heddle/core';
import { block, workflow } from '../../support/workflow.ts';

let stepCount = 0;
const listeners = new Set<() => void>();

/** A step that increments the output of the previous step. Executed steps are counted. */
const stepBlock: BlockExecutor = {
  types: ['step'],
  class: 'compute',
  execute(context) {
    stepCount += 1;
    for (const check of listeners) check();
    return { output: { n: ((context.sourceOutput()['n'] as number | undefined) ?? 0) + 1 } };
  },
};

/**
 * A block that completes in a later iteration of the event loop, so that a stream can follow the run from its start.
 */
const deferredBlock: BlockExecutor = {
  types: ['deferred'],
  class: 'compute',
  async execute() {
    await nextTurn();
    return { output: { n: 1 } };
  },
};

let gate = Promise.withResolvers<void>();

/** A block that waits until the gate opens. */
const gateBlock: BlockExecutor = {
  types: ['gate'],
  class: 'compute',
  async execute() {
    await gate.promise;
    return { output: { n: 2 } };
  },
};

export const BLOCKS: readonly BlockExecutor[] = [stepBlock, deferredBlock, gateBlock];

/** A workflow of one step. */
export const STEP_WORKFLOW: Json = workflow([block('S1', 'step')], ['Start -> S1']);

/** A workflow of one step that a webhook starts. */
export const WEBHOOK_WORKFLOW: Json = workflow(
  [block('Hook', 'generic_webhook', {}, { triggerMode: true }), block('S1', 'step')],
  ['Hook -> S1'],
  { id: 'hook', name: 'Hook' },
);

/** A workflow of two blocks: one whose output is the first event of the stream, and one that waits for the gate. */
export const WAIT_WORKFLOW: Json = workflow(
  [block('S1', 'deferred'), block('G1', 'gate')],
  ['Start -> S1 -> G1'],
  {
    id: 'waits',
    name: 'Waits',
  },
);

/** Returns the number of steps that have run in this process. */
export function getStepCount(): number {
  return stepCount;
}

/** Resolves when `count` steps have run. */
export async function waitForSteps(count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => {
    if (stepCount >= count) resolve();
  };
  listeners.add(check);
  check();
  await promise;
  listeners.delete(check);
}

/** Opens the gate for the current waiters. Later waiters wait for the next opening. */
export function openGate(): void {
  gate.resolve();
  gate = Promise.withResolvers<void>();
}

/** Resolves at the next opening of the gate. */
export function waitForGate(): Promise<void> {
  return gate.promise;
}
