import type { BlockContext, BlockExecutor, BlockResult, JsonObject } from '@heddle/core/blocks';

/** A call of a scripted block, which the test answers. */
export interface Call {
  /** The block's name with its iteration and branch numbers: `A`, `A.0.2`. */
  at: string;
  try: number;
  context: BlockContext;
  done(output?: JsonObject): void;
  fail(error: Error): void;
}

/**
 * An executor of blocks of the type `work` whose calls the test answers: `await script.called('A')` returns the next
 * call of the block. Calls of a block in `answers` are answered at once.
 */
export class Script {
  readonly calls: string[] = [];
  readonly aborted: string[] = [];
  readonly #stops: { at: string; tell: () => void }[] = [];
  readonly #waiting: Call[] = [];
  readonly #wanted: { at: string; take: (call: Call) => void }[] = [];
  readonly #answers: { [name: string]: (context: BlockContext) => BlockResult };
  readonly #otherwise: ((context: BlockContext) => BlockResult) | undefined;

  /** `otherwise` answers the calls of all other blocks. */
  constructor(
    answers: { [name: string]: (context: BlockContext) => BlockResult } = {},
    otherwise?: (context: BlockContext) => BlockResult,
  ) {
    this.#answers = answers;
    this.#otherwise = otherwise;
  }

  readonly executor: BlockExecutor = {
    types: ['work'],
    class: 'effect',
    execute: (context) => this.#execute(context),
  };

  #execute(context: BlockContext): BlockResult | Promise<BlockResult> {
    const at = [context.block.name, ...context.scope].join('.');
    this.calls.push(at);
    const answer = this.#answers[context.block.name] ?? this.#otherwise;
    if (answer) return answer(context);
    return new Promise<BlockResult>((resolve, reject) => {
      context.signal.addEventListener('abort', () => {
        this.aborted.push(at);
        for (const stop of this.#stops) if (stop.at === at) stop.tell();
        reject(new Error('aborted'));
      });
      const call: Call = {
        at,
        try: context.attempt,
        context,
        done: (output = {}) => resolve({ output }),
        fail: reject,
      };
      const index = this.#wanted.findIndex((wish) => wish.at === at);
      if (index < 0) this.#waiting.push(call);
      else this.#wanted.splice(index, 1)[0]?.take(call);
    });
  }

  /** Resolves when a call of the block at `at` has been aborted. A worker in another process aborts it with a delay. */
  stopped(at: string): Promise<void> {
    return this.aborted.includes(at)
      ? Promise.resolve()
      : new Promise((tell) => this.#stops.push({ at, tell }));
  }

  /** Resolves with the next call of the block at `at` that no earlier `called` has returned. */
  called(at: string): Promise<Call> {
    const index = this.#waiting.findIndex((call) => call.at === at);
    const [call] = index < 0 ? [] : this.#waiting.splice(index, 1);
    return call ? Promise.resolve(call) : new Promise((take) => this.#wanted.push({ at, take }));
  }
}

/** Returns a block of the type `work`. */
export function work(
  name: string,
  more: JsonObject = {},
): { name: string; type: string; fields: JsonObject; more: JsonObject } {
  return { name, type: 'work', fields: {}, more };
}
