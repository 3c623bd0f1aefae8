import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockExecutor, Json } from '@heddle/core';
import { block, workflow } from '../../support/workflow.ts';

let stepped = 0;
const watchers = new Set<() => void>();

/** A step that increments the output of the previous one, and is counted. */
const step: BlockExecutor = {
  types: ['step'],
  class: 'compute',
  execute(context) {
    stepped += 1;
    for (const look of watchers) look();
    return { output: { n: ((context.sourceOutput()['n'] as number | undefined) ?? 0) + 1 } };
  },
};

/** The same in a later turn of the event loop, like a block that sends a request, so that a stream can follow the run. */
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

/** A workflow of one step. */
export const STEP: Json = workflow([block('S1', 'step')], ['Start -> S1']);

/** A workflow of one step that a webhook starts. */
export const HOOK: Json = workflow(
  [block('Hook', 'generic_webhook', {}, { triggerMode: true }), block('S1', 'step')],
  ['Hook -> S1'],
  { id: 'hook', name: 'Hook' },
);

/** A block whose output is the first frame of the stream, then the gate. */
export const WAIT: Json = workflow([block('S1', 'ask'), block('G1', 'gate')], ['Start -> S1 -> G1'], {
  id: 'waits',
  name: 'Waits',
});

/** Returns the number of steps that have run in this process. */
export function steps(): number {
  return stepped;
}

/** Resolves when `count` steps have run. */
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

/** Opens the gate for the current waiters. Later waiters wait for the next opening. */
export function openGate(): void {
  gate.resolve();
  gate = Promise.withResolvers<void>();
}

/** Resolves at the next opening of the gate. */
export function untilGate(): Promise<void> {
  return gate.promise;
}
