import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockExecutor, Json } from '@heddle/core';
import { block, workflow } from '../../support/workflow.ts';

let stepped = 0;
const watchers = new Set<() => void>();

/** One more than the step before gave, counted. */
const step: BlockExecutor = {
  types: ['step'],
  class: 'compute',
  execute(context) {
    stepped += 1;
    for (const look of watchers) look();
    return { output: { n: ((context.sourceOutput()['n'] as number | undefined) ?? 0) + 1 } };
  },
};

/** The same in a turn of its own, as blocks are that ask somebody: who follows the run is there to see it. */
const ask: BlockExecutor = {
  types: ['ask'],
  class: 'compute',
  async execute() {
    await nextTurn();
    return { output: { n: 1 } };
  },
};

let gate = Promise.withResolvers<void>();

/** Waits until the gate is opened. */
const wait: BlockExecutor = {
  types: ['gate'],
  class: 'compute',
  async execute() {
    await gate.promise;
    return { output: { n: 2 } };
  },
};

export const BLOCKS: readonly BlockExecutor[] = [step, ask, wait];

/** What is run: the smallest workflow that does something. */
export const STEP: Json = workflow([block('S1', 'step')], ['Start -> S1']);

/** A block whose output is a stream's first frame, and then the gate. */
export const WAIT: Json = workflow([block('S1', 'ask'), block('G1', 'gate')], ['Start -> S1 -> G1'], {
  id: 'waits',
  name: 'Waits',
});

/** Steps that have been run in this process. */
export function steps(): number {
  return stepped;
}

/** Resolves once so many have been. */
export async function untilSteps(many: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (stepped >= many) resolve();
  };
  watchers.add(look);
  look();
  await promise;
  watchers.delete(look);
}

/** Lets everything go on that waits at the gate; what comes later waits for the next time. */
export function openGate(): void {
  gate.resolve();
  gate = Promise.withResolvers<void>();
}

/** Resolves when the gate is opened the next time. */
export function untilGate(): Promise<void> {
  return gate.promise;
}
