import { BlockError } from '@heddle/core';
import type { BlockContext, BlockExecutor, BlockResult } from '@heddle/core/blocks';
import { numbersFor } from '../../support/seeded.ts';

/** Milliseconds after which a wait ends. */
const WAIT_MS = 30;

/** Returns a generator of random numbers that depend only on the attempt and its block. */
export function drawFor(call: {
  seed: number;
  block: string;
  scope: readonly number[];
  nth: number;
}): () => number {
  const { seed, block, scope, nth } = call;
  return numbersFor(seed, [...Buffer.from(block), ...scope, nth]);
}

/** Returns the name of an attempt of a block in its run. */
export function callName(block: string, scope: readonly number[], nth: number): string {
  return `${[block, ...scope].join('.')}#${nth}`;
}

/** Effects that wait until the test answers them. Their results depend on their seeds. */
export class HeldEffects {
  readonly #open = new Map<string, Map<string, () => void>>();

  readonly executors: readonly BlockExecutor[] = [
    { types: ['parity-calc'], class: 'compute', execute: answerOf },
    { types: ['parity-wait'], class: 'wait', execute: waitOf },
    {
      types: ['parity-pause'],
      class: 'pause',
      execute: pauseOf,
      resume: ({ paused, input }) => ({ ...paused, input }),
    },
    { types: ['parity-effect'], class: 'effect', execute: (context) => this.#perform(context) },
    { types: ['parity-hang'], class: 'effect', execute: hang },
  ];

  /** Returns the pending calls of the run. */
  calls(runId: string): string[] {
    return [...(this.#open.get(runId)?.keys() ?? [])];
  }

  answer(runId: string, name: string): void {
    const give = this.#open.get(runId)?.get(name);
    if (!give) throw new Error(`${name} was not called`);
    give();
  }

  /** Removes the calls of the run. */
  clear(runId: string): void {
    this.#open.delete(runId);
  }

  #perform(context: BlockContext): Promise<BlockResult> {
    const { runId, block, scope, signal } = context;
    const name = callName(block.id, scope, context.attempt);
    const calls = this.#open.get(runId) ?? new Map<string, () => void>();
    this.#open.set(runId, calls);
    return new Promise((resolve, reject) => {
      const removeCall = (): void => {
        if (calls.get(name) === give) calls.delete(name);
      };
      const give = (): void => {
        removeCall();
        // Inside a promise, so that a failure rejects the call.
        resolve(Promise.resolve().then(() => answerOf(context)));
      };
      const stop = (): void => {
        removeCall();
        reject(signal.reason as Error);
      };
      if (signal.aborted) stop();
      else {
        signal.addEventListener('abort', stop, { once: true });
        calls.set(name, give);
      }
    });
  }
}

/** Returns the random numbers of an attempt. Throws for a random share of the attempts. */
function randomOf({ block, scope, field, attempt: nth }: BlockContext): () => number {
  const draw = drawFor({ seed: Number(field('seed')), block: block.id, scope, nth });
  if (draw() < 0.12) {
    const retryable = draw() < 0.8;
    throw new BlockError('BLOCK_FAILED', `${callName(block.id, scope, nth)} fails`, { retryable });
  }
  return draw;
}

function answerOf(context: BlockContext): BlockResult {
  const { works } = context.fields();
  if (works === false)
    throw new BlockError('BLOCK_FAILED', 'The block fails on purpose.', { retryable: false });
  if (works === true) return { output: { works } };
  const port = ['source', 'a', 'b'][Math.floor(randomOf(context)() * 3)] as string;
  const { block, scope } = context;
  const output = { by: block.id, at: [...scope], after: context.sourceOutput()['by'] ?? null };
  return { output, ...(port !== 'source' && { port }) };
}

function waitOf(context: BlockContext): BlockResult {
  randomOf(context);
  const output = { by: context.block.id };
  return { waitUntilMs: context.clock.now() + WAIT_MS, waiting: output, output };
}

function pauseOf(context: BlockContext): BlockResult {
  randomOf(context);
  return { pause: { by: context.block.id } };
}

function hang({ signal }: BlockContext): Promise<BlockResult> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
