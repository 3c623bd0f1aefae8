import type { BlockContext, BlockExecutor, BlockResult, JsonObject } from '@heddle/core/blocks';

/** A call of a scripted block. The test answers it. */
export interface Call {
  /** The block's name with its iteration and branch numbers: `A`, `A.0.2`. */
  at: string;
  attempt: number;
  context: BlockContext;
  done(output?: JsonObject): void;
  fail(error: Error): void;
}

/**
 * An executor of blocks of the type `work` whose calls the test answers: `await script.nextCall('A')` returns the next
 * call of the block. Calls of a block in `answers` are answered immediately.
 */
export class Script {
  readonly calls: string[] = [];
  readonly aborted: string[] = [];
  readonly #abortWaiters: { at: string; resolve: () => void }[] = [];
  readonly #pendingCalls: Call[] = [];
  readonly #callWaiters: { at: string; resolve: (call: Call) => void }[] = [];
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
    const at = [context.block.name, ...context.scope].join('.');
    this.calls.push(at);
    const answer = this.#answers[context.block.name] ?? this.#defaultAnswer;
    if (answer) return answer(context);
    return new Promise<BlockResult>((resolve, reject) => {
      context.signal.addEventListener('abort', () => {
        this.aborted.push(at);
        for (const waiter of this.#abortWaiters) if (waiter.at === at) waiter.resolve();
        reject(new Error('aborted'));
      });
      const call: Call = {
        at,
        attempt: context.attempt,
        context,
        done: (output = {}) => resolve({ output }),
        fail: reject,
      };
      const index = this.#callWaiters.findIndex((waiter) => waiter.at === at);
      if (index < 0) this.#pendingCalls.push(call);
      else this.#callWaiters.splice(index, 1)[0]?.resolve(call);
    });
  }

  /** Resolves when a call of the block at `at` has been aborted. A worker in another process aborts it with a delay. */
  whenAborted(at: string): Promise<void> {
    return this.aborted.includes(at)
      ? Promise.resolve()
      : new Promise((resolve) => this.#abortWaiters.push({ at, resolve }));
  }

  /** Resolves with the next call of the block at `at` that no earlier call of this method has returned. */
  nextCall(at: string): Promise<Call> {
    const index = this.#pendingCalls.findIndex((call) => call.at === at);
    const [call] = index < 0 ? [] : this.#pendingCalls.splice(index, 1);
    return call ? Promise.resolve(call) : new Promise((resolve) => this.#callWaiters.push({ at, resolve }));
  }
}

/** Returns a block of the type `work`. */
export function work(
  name: string,
  properties: JsonObject = {},
): { name: string; type: string; fields: JsonObject; properties: JsonObject } {
  return { name, type: 'work', fields: {}, properties: properties };
}
