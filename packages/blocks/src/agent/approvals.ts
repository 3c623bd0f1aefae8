import type { JsonObject } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { readAnswer, waitingCalls } from './approval-answer.ts';
import type { Decision, WaitingCall } from './approval-answer.ts';

/** A decision, and the call as the person saw it. */
export interface DecidedCall {
  decision: Decision;
  call: WaitingCall;
}

/**
 * The decisions of people about the calls of one execution of an agent. Each pause is recorded as a step before it
 * opens. Its answer is compared with that record, not with the current state of the workflow.
 */
export class Approvals {
  readonly #context: Context;
  readonly #decidedCalls: ReadonlyMap<string, DecidedCall>;
  /** The number of pauses that were answered. */
  readonly #answeredPauseCount: number;
  /** The reason why the last answer is invalid; undefined if it is valid. */
  readonly #problem: string | undefined;

  private constructor(
    context: Context,
    state: {
      decidedCalls: ReadonlyMap<string, DecidedCall>;
      answeredPauseCount: number;
      problem: string | undefined;
    },
  ) {
    this.#context = context;
    this.#decidedCalls = state.decidedCalls;
    this.#answeredPauseCount = state.answeredPauseCount;
    this.#problem = state.problem;
  }

  /** Reads the answers to the earlier pauses of the block. */
  static async load(context: Context): Promise<Approvals> {
    const answers = await context.answers();
    const decidedCalls = new Map<string, DecidedCall>();
    let problem: string | undefined;
    for (const [index, answer] of answers.entries()) {
      const calls = waitingCalls(await loadOrRecordCalls(context, index + 1, []));
      // Checked here too: a process without the agent block records answers without checking them.
      const { decisions, problems } = readAnswer(answer, calls);
      problem = problems[0];
      if (problem !== undefined) continue;
      for (const call of calls) {
        const decision = decisions.get(call.id);
        if (decision) decidedCalls.set(call.id, { decision, call });
      }
    }
    return new Approvals(context, { decidedCalls, answeredPauseCount: answers.length, problem });
  }

  /** Returns the decision about a call; undefined if no person has decided about this call. */
  decisionOf({ id, name }: Pick<WaitingCall, 'id' | 'name'>): DecidedCall | undefined {
    const decidedCall = this.#decidedCalls.get(id);
    return decidedCall?.call.name === name ? decidedCall : undefined;
  }

  /** Returns the output of a pause that asks about these calls. */
  async ask(calls: readonly WaitingCall[]): Promise<JsonObject> {
    const output = await loadOrRecordCalls(this.#context, this.#answeredPauseCount + 1, calls);
    return { ...output, ...(this.#problem !== undefined && { problem: this.#problem }) };
  }
}

/** Returns the recorded calls of pause `pauseNumber` of the block. Records `calls` if none are recorded yet. */
function loadOrRecordCalls(
  context: Context,
  pauseNumber: number,
  calls: readonly WaitingCall[],
): Promise<JsonObject> {
  return context.step(`approval ${pauseNumber}`, () => ({ calls }) as unknown as JsonObject, {
    idempotent: true,
  });
}
