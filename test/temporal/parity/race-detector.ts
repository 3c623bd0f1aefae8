import type { Address } from '../../../packages/core/src/machine/index.ts';
import type { ApplyResult, Command, Entry, RunState } from '@heddle/core/run';

/** Timers that end independently of other events. */
export const INDEPENDENT_TIMERS: ReadonlySet<string> = new Set(['retry', 'wait', 'timeout']);

/**
 * Detects that the order of a run's events is undefined, because two operations are in progress that end independently.
 * The journals of two runtimes may then differ although both are correct.
 *
 * Such operations are blocks, timers, child runs and expansions of containers (R9: branches run concurrently; a
 * condition is evaluated in a sandbox). The order of two expansions alone does not matter, because both runtimes
 * evaluate conditions in the order of the commands. The order changes the journal if a block after the first expansion
 * fails or ends a scope that also contains the second container (R17): this may happen before or after the second
 * expansion ends. (Rules such as R17 are in docs/semantics.md.)
 *
 * A block and an effect with a time limit that run at the same time are such operations, too (R21): a segment (a
 * part of the run that one process drives) and an effect can be two activities, and each starts when a worker takes it.
 * Without a time limit, the test decides when the effect ends.
 */
export class RaceDetector {
  isRacy = false;
  readonly #runState: RunState;
  readonly #isPerBlock: boolean;
  /** Groups of expansions that were pending at the same time since the run was last idle, as addresses. */
  #concurrentExpansions: Address[][] = [];
  /** True if an expansion of a group has ended. */
  #hasEndedExpansion = false;

  /** `isPerBlock`: the other runtime executes every block in its own activity, so any two blocks end in any order. */
  constructor(runState: RunState, { isPerBlock }: { isPerBlock: boolean }) {
    this.#runState = runState;
    this.#isPerBlock = isPerBlock;
  }

  /** Records an entry. Must be called after the run state has applied it. */
  recordEntry(entry: Entry, applyResult: ApplyResult): void {
    const pendingCommands = this.#runState.pendingCommands();
    this.isRacy ||= this.#isUnordered(pendingCommands) || this.#dependsOnExpansionOrder(entry, applyResult);
    this.#hasEndedExpansion ||= this.#endsExpansion(entry);
    const expansions = pendingCommands.flatMap((command) => (command.type === 'expand' ? [command.at] : []));
    if (expansions.length > 1) this.#concurrentExpansions.push(expansions);
  }

  /** Records that the run is idle: later events cannot race with earlier events. */
  recordIdle(): void {
    this.#concurrentExpansions = [];
    this.#hasEndedExpansion = false;
  }

  #isUnordered(pendingCommands: readonly Command[]): boolean {
    if (this.#mayTimeOutFirst(pendingCommands)) return true;
    const unorderedCommands = pendingCommands.filter((command) => {
      if (command.type === 'timer') return INDEPENDENT_TIMERS.has(command.timer);
      if (command.type !== 'run') return this.#isPerBlock && command.type === 'expand';
      const { class: blockClass } = this.#runState.index.node(command.at);
      return blockClass === 'child' || (this.#isPerBlock && blockClass !== 'effect');
    });
    if (unorderedCommands.length > 1) return true;
    return (
      unorderedCommands.length > 0 &&
      !this.#isPerBlock &&
      pendingCommands.some(({ type }) => type === 'expand')
    );
  }

  /** True if an effect has a time limit, and a block runs in a segment at the same time. */
  #mayTimeOutFirst(pendingCommands: readonly Command[]): boolean {
    const hasTimeLimit = pendingCommands.some(
      (command) => command.type === 'timer' && command.timer === 'timeout',
    );
    return (
      hasTimeLimit &&
      pendingCommands.some(
        ({ type, at }) => type === 'run' && this.#runState.index.node(at).class !== 'effect',
      )
    );
  }

  #dependsOnExpansionOrder(entry: Entry, applyResult: ApplyResult): boolean {
    if (entry.type === 'failed' && this.#hasEndedExpansion) return true;
    const endedScopes = this.#endedScopes(applyResult);
    return this.#concurrentExpansions.some((group) =>
      endedScopes.some((scope) => group.filter((at) => isInside(at, scope)).length > 1),
    );
  }

  #endsExpansion(entry: Entry): boolean {
    if (entry.type !== 'expanded' && entry.type !== 'failed') return false;
    const address = this.#runState.index.addressOf(entry.block, entry.scope).join('.');
    return this.#concurrentExpansions.some((group) => group.some((at) => at.join('.') === address));
  }

  /** Returns the addresses of the run (`[]`), containers and branches that start no more blocks after this entry. */
  #endedScopes({ commands, transitions }: ApplyResult): Address[] {
    const fromCommands = commands.flatMap((command): Address[] => {
      if (command.type === 'end') return [[]];
      return command.type === 'timer' && command.timer === 'grace' ? [command.at] : [];
    });
    const fromTransitions = transitions.flatMap((transition): Address[] => {
      if (transition.type === 'closed')
        return transition.failed ? [[...transition.at, transition.iteration]] : [];
      return transition.type === 'failed' && this.#runState.index.node(transition.at).subflow
        ? [transition.at]
        : [];
    });
    return [...fromCommands, ...fromTransitions];
  }
}

function isInside(at: Address, scope: Address): boolean {
  return scope.every((index, depth) => at[depth] === index);
}
