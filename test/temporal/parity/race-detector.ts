import type { Address } from '../../../packages/core/src/machine/index.ts';
import type { Applied, Command, Entry, Replica } from '@heddle/core/run';

/** Timers that end by themselves, each at its own time. */
export const RUNNING_TIMERS: ReadonlySet<string> = new Set(['retry', 'wait', 'timeout']);

/**
 * Detects that the order of a run's events is undefined: two things are under way, and each ends at its own time. The
 * journals of two runtimes may then differ although both are right.
 *
 * Two blocks, timers or child runs are such a pair, and so are two expansions of containers (R9: branches run
 * concurrently; a condition is evaluated in a sandbox). The order of two expansions alone is harmless, because both runtimes
 * evaluate in the order of the commands. It decides the journal where blocks that follow the first expansion fail, or end
 * a scope that also contains the second container (R17): this happens before or after the second expansion ends.
 */
export class RaceDetector {
  found = false;
  readonly #replica: Replica;
  readonly #apart: boolean;
  /** Addresses of the expansions that were pending at the same time since the run was last quiet. */
  #groups: Address[][] = [];
  /** True if an expansion of a group has ended. */
  #isOneAnswered = false;

  /** `apart`: the other runtime executes every block by itself, so any two blocks end in an undefined order. */
  constructor(replica: Replica, { apart }: { apart: boolean }) {
    this.#replica = replica;
    this.#apart = apart;
  }

  /** To be called after each entry that the replica has applied. */
  applied(entry: Entry, applied: Applied): void {
    const pending = this.#replica.pendingCommands();
    this.found ||= this.#isUnordered(pending) || this.#isExpansionOvertaken(entry, applied);
    this.#isOneAnswered ||= this.#answersGroup(entry);
    const expanding = pending.flatMap((command) => (command.type === 'expand' ? [command.at] : []));
    if (expanding.length > 1) this.#groups.push(expanding);
  }

  /** To be called when nothing moves the run: what happens next cannot race with anything before. */
  quiet(): void {
    this.#groups = [];
    this.#isOneAnswered = false;
  }

  #isUnordered(pending: readonly Command[]): boolean {
    const unordered = pending.filter((command) => {
      if (command.type === 'timer') return RUNNING_TIMERS.has(command.timer);
      if (command.type !== 'run') return this.#apart && command.type === 'expand';
      const { class: kind } = this.#replica.index.node(command.at);
      return kind === 'child' || (this.#apart && kind !== 'effect');
    });
    if (unordered.length > 1) return true;
    return unordered.length > 0 && !this.#apart && pending.some(({ type }) => type === 'expand');
  }

  #isExpansionOvertaken(entry: Entry, applied: Applied): boolean {
    if (entry.type === 'failed' && this.#isOneAnswered) return true;
    const ended = this.#endedScopes(applied);
    return this.#groups.some((group) =>
      ended.some((scope) => group.filter((at) => isInside(at, scope)).length > 1),
    );
  }

  #answersGroup(entry: Entry): boolean {
    if (entry.type !== 'expanded' && entry.type !== 'failed') return false;
    const name = this.#replica.index.addressOf(entry.block, entry.scope).join('.');
    return this.#groups.some((group) => group.some((at) => at.join('.') === name));
  }

  /** Addresses of the run (`[]`), the containers and the branches that start nothing new from this entry on. */
  #endedScopes({ commands, notices }: Applied): Address[] {
    const ofCommands = commands.flatMap((command): Address[] => {
      if (command.type === 'end') return [[]];
      return command.type === 'timer' && command.timer === 'grace' ? [command.at] : [];
    });
    const ofNotices = notices.flatMap((notice): Address[] => {
      if (notice.type === 'closed') return notice.failed ? [[...notice.at, notice.iteration]] : [];
      return notice.type === 'failed' && this.#replica.index.node(notice.at).subflow ? [notice.at] : [];
    });
    return [...ofCommands, ...ofNotices];
  }
}

function isInside(at: Address, scope: Address): boolean {
  return scope.every((index, depth) => at[depth] === index);
}
