import type { BlockContext, BlockExecutor, BlockResult, JsonObject } from '@heddle/core/blocks';

/** A call of a scripted block. The test answers it. */
export interface Call {
  /** The block's name with its iteration and branch numbers: `A`, `A.0.2`. */
  scopedName: string;
  attempt: number;
  context: BlockContext;
  complete(output?: JsonObject): void;
  fail(error: Error): void;
}

/**
 * An executor of blocks of the type `work` whose calls the test answers: `await scriptedExecutor.nextCall('A')` returns
 * the next call of the block. Calls of a block in `answers` are answered immediately.
 */
export class ScriptedExecutor {
  readonly calls: string[] = [];
  readonly abortedCalls: string[] = [];
  readonly #abortWaiters: { scopedName: string; resolve: () => void }[] = [];
  readonly #pendingCalls: Call[] = [];
  readonly #callWaiters: { scopedName: string; resolve: (call: Call) => void }[] = [];
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
    const scopedName = [context.block.name, ...context.scope].join('.');
    this.calls.push(scopedName);
    const answer = this.#answers[context.block.name] ?? this.#defaultAnswer;
    if (answer) return answer(context);
    return new Promise<BlockResult>((resolve, reject) => {
      context.signal.addEventListener('abort', () => {
        this.abortedCalls.push(scopedName);
        for (const waiter of this.#abortWaiters) if (waiter.scopedName === scopedName) waiter.resolve();
        reject(new Error('aborted'));
      });
      const call: Call = {
        scopedName,
        attempt: context.attempt,
        context,
        complete: (output = {}) => resolve({ output }),
        fail: reject,
      };
      const index = this.#callWaiters.findIndex((waiter) => waiter.scopedName === scopedName);
      if (index < 0) this.#pendingCalls.push(call);
      else this.#callWaiters.splice(index, 1)[0]?.resolve(call);
    });
  }

  /**
   * Resolves when a call of the block `scopedName` has been aborted. A worker in another process aborts it after a
   * delay.
   */
  whenAborted(scopedName: string): Promise<void> {
    return this.abortedCalls.includes(scopedName)
      ? Promise.resolve()
      : new Promise((resolve) => this.#abortWaiters.push({ scopedName, resolve }));
  }

  /** Resolves with the next call of the block `scopedName` that no earlier call of this method has returned. */
  nextCall(scopedName: string): Promise<Call> {
    const index = this.#pendingCalls.findIndex((call) => call.scopedName === scopedName);
    const [call] = index < 0 ? [] : this.#pendingCalls.splice(index, 1);
    return call
      ? Promise.resolve(call)
      : new Promise((resolve) => this.#callWaiters.push({ scopedName, resolve }));
  }
}

/** Returns a block of the type `work`. */
export function work(
  name: string,
  properties: JsonObject = {},
): { name: string; type: string; fields: JsonObject; properties: JsonObject } {
  return { name, type: 'work', fields: {}, properties };
}
