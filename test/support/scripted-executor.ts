import type { BlockContext, BlockExecutor, BlockResult, JsonObject } from '@heddle/core/blocks';

/** A call of a scripted block. The test answers it. */
export interface Call {
  /** The block's name with its iteration and branch numbers: `A`, `A.0.2`. */
  place: string;
  attempt: number;
  context: BlockContext;
  done(output?: JsonObject): void;
  fail(error: Error): void;
}

/**
 * An executor of blocks of the type `work` whose calls the test answers: `await scriptedExecutor.nextCall('A')` returns
 * the next call of the block. Calls of a block in `answers` are answered immediately.
 */
export class ScriptedExecutor {
  readonly calls: string[] = [];
  readonly aborted: string[] = [];
  readonly #abortWaiters: { place: string; resolve: () => void }[] = [];
  readonly #pendingCalls: Call[] = [];
  readonly #callWaiters: { place: string; resolve: (call: Call) => void }[] = [];
  readonly #answers: { [name: string]: (context: BlockContext) => BlockResult };
  readonly #defaultAnswer: ((context: BlockContext) => BlockResult) | undefined;

  /** `defaultAnswer` answers the calls of all other blocks. */
  constructor(
    answers: { [name: string]: (context: BlockContext) => BlockResult } = {},
    defaultAnswer?: (context: BlockContext) => BlockResult,
  ) {
    this.#answers = answers;
    this.#defaultAnswer = defaultAnswer;
  }

  readonly executor: BlockExecutor = {
    types: ['work'],
    class: 'effect',
    execute: (context) => this.#execute(context),
  };

  #execute(context: BlockContext): BlockResult | Promise<BlockResult> {
    const place = [context.block.name, ...context.scope].join('.');
    this.calls.push(place);
    const answer = this.#answers[context.block.name] ?? this.#defaultAnswer;
    if (answer) return answer(context);
    return new Promise<BlockResult>((resolve, reject) => {
      context.signal.addEventListener('abort', () => {
        this.aborted.push(place);
        for (const waiter of this.#abortWaiters) if (waiter.place === place) waiter.resolve();
        reject(new Error('aborted'));
      });
      const call: Call = {
        place,
        attempt: context.attempt,
        context,
        done: (output = {}) => resolve({ output }),
        fail: reject,
      };
      const index = this.#callWaiters.findIndex((waiter) => waiter.place === place);
      if (index < 0) this.#pendingCalls.push(call);
      else this.#callWaiters.splice(index, 1)[0]?.resolve(call);
    });
  }

  /**
   * Resolves when a call of the block at `place` has been aborted. A worker in another process aborts it with a delay.
   */
  whenAborted(place: string): Promise<void> {
    return this.aborted.includes(place)
      ? Promise.resolve()
      : new Promise((resolve) => this.#abortWaiters.push({ place, resolve }));
  }

  /** Resolves with the next call of the block at `place` that no earlier call of this method has returned. */
  nextCall(place: string): Promise<Call> {
    const index = this.#pendingCalls.findIndex((call) => call.place === place);
    const [call] = index < 0 ? [] : this.#pendingCalls.splice(index, 1);
    return call
      ? Promise.resolve(call)
      : new Promise((resolve) => this.#callWaiters.push({ place, resolve }));
  }
}

/** Returns a block of the type `work`. */
export function work(
  name: string,
  properties: JsonObject = {},
): { name: string; type: string; fields: JsonObject; properties: JsonObject } {
  return { name, type: 'work', fields: {}, properties };
}
