import { BlockError } from '@heddle/core';
import type { BlockContext, BlockExecutor, BlockResult } from '@heddle/core/blocks';
import { createSeededRandomFor } from '../../support/seeded-random.ts';

/** Milliseconds after which a wait ends. */
const WAIT_MS = 30;

/** Returns a generator of random numbers that depend only on the seed, the block, its scope and the attempt. */
export function randomFor(call: {
  seed: number;
  block: string;
  scope: readonly number[];
  attempt: number;
}): () => number {
  const { seed, block, scope, attempt: attemptNumber } = call;
  return createSeededRandomFor(seed, [...Buffer.from(block), ...scope, attemptNumber]);
}

/** Returns the name of an attempt of a block in its run. */
export function callName(block: string, scope: readonly number[], attempt: number): string {
  return `${[block, ...scope].join('.')}#${attempt}`;
}

/** Effects that wait until the test answers them. Their results depend on their seeds. */
export class PendingEffects {
  readonly #pendingCalls = new Map<string, Map<string, () => void>>();

  readonly executors: readonly BlockExecutor[] = [
    { types: ['parity-calc'], class: 'compute', execute: createResult },
    { types: ['parity-wait'], class: 'wait', execute: executeWait },
    {
      types: ['parity-pause'],
      class: 'pause',
      execute: executePause,
      resume: ({ pausedOutput, input }) => ({ ...pausedOutput, input }),
    },
    { types: ['parity-effect'], class: 'effect', execute: (context) => this.#execute(context) },
    { types: ['parity-hang'], class: 'effect', execute: hang },
  ];

  /** Returns the names of the pending calls of the run. */
  pendingCallNames(runId: string): string[] {
    return [...(this.#pendingCalls.get(runId)?.keys() ?? [])];
  }

  answer(runId: string, name: string): void {
    const respond = this.#pendingCalls.get(runId)?.get(name);
    if (!respond) throw new Error(`The call ${name} is not pending.`);
    respond();
  }

  /** Removes the calls of the run. */
  clear(runId: string): void {
    this.#pendingCalls.delete(runId);
  }

  #execute(context: BlockContext): Promise<BlockResult> {
    const { runId, block, scope, signal } = context;
    const name = callName(block.id, scope, context.attempt);
    const calls = this.#pendingCalls.get(runId) ?? new Map<string, () => void>();
    this.#pendingCalls.set(runId, calls);
    return new Promise((resolve, reject) => {
      const removeCall = (): void => {
        if (calls.get(name) === respond) calls.delete(name);
      };
      const respond = (): void => {
        removeCall();
        // Inside a promise, so that a failure rejects the call.
        resolve(Promise.resolve().then(() => createResult(context)));
      };
      const stop = (): void => {
        removeCall();
        reject(signal.reason as Error);
      };
      if (signal.aborted) stop();
      else {
        signal.addEventListener('abort', stop, { once: true });
        calls.set(name, respond);
      }
    });
  }
}

/** Returns the generator of random numbers of an attempt. Throws BLOCK_FAILED for a random share of the attempts. */
function randomOf({ block, scope, field, attempt }: BlockContext): () => number {
  const random = randomFor({ seed: Number(field('seed')), block: block.id, scope, attempt });
  if (random() < 0.12) {
    const retryable = random() < 0.8;
    throw new BlockError('BLOCK_FAILED', `${callName(block.id, scope, attempt)} fails`, { retryable });
  }
  return random;
}

function createResult(context: BlockContext): BlockResult {
  const { works } = context.fields();
  if (works === false)
    throw new BlockError('BLOCK_FAILED', 'The block fails on purpose.', { retryable: false });
  if (works === true) return { output: { works } };
  const port = ['source', 'a', 'b'][Math.floor(randomOf(context)() * 3)] as string;
  const { block, scope } = context;
  const output = { blockId: block.id, at: [...scope], after: context.sourceOutput()['blockId'] ?? null };
  return { output, ...(port !== 'source' && { port }) };
}

function executeWait(context: BlockContext): BlockResult {
  randomOf(context);
  const output = { blockId: context.block.id };
  return { waitUntilMs: context.clock.now() + WAIT_MS, waiting: output, output };
}

function executePause(context: BlockContext): BlockResult {
  randomOf(context);
  return { pause: { blockId: context.block.id } };
}

function hang({ signal }: BlockContext): Promise<BlockResult> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
