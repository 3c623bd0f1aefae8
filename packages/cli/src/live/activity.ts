import type { BlockLog } from '@heddle/core';
import { safeLine } from '../render/style.ts';

/** A block that is at work, or waits for its time. */
interface Working {
  name: string;
  /** Ids of the containers around it, outermost first. */
  containers: readonly string[];
  sinceMs: number;
  /** It has been mentioned as slow, or need not be. */
  mentioned: boolean;
}

interface Turn {
  name: string;
  turn: number;
  count: number | undefined;
}

/** What is under way in a run right now. */
export class Activity {
  readonly #working = new Map<number, Working>();
  readonly #turns = new Map<string, Turn>();

  start(log: BlockLog): void {
    this.#working.set(log.executionOrder, {
      name: safeLine(log.blockName),
      containers: containersOf(log),
      sinceMs: log.startedMs,
      mentioned: false,
    });
  }

  /** The block waits for a time, `until` as people read it. */
  wait(log: BlockLog, until: string): void {
    this.start(log);
    const working = this.#working.get(log.executionOrder);
    if (working) Object.assign(working, { name: `${working.name} (until ${until})`, mentioned: true });
  }

  end(log: BlockLog): void {
    this.#working.delete(log.executionOrder);
    this.#turns.delete(log.blockId);
  }

  turn(blockId: string, name: string, at: { turn: number; count: number | undefined }): void {
    this.#turns.set(blockId, { name: safeLine(name), ...at });
  }

  /** Blocks at work for longer than `ms` that have not been named by this before. */
  slow(nowMs: number, ms: number): { path: string; sinceMs: number }[] {
    return [...this.#working.values()]
      .filter((working) => !working.mentioned && nowMs - working.sinceMs >= ms)
      .map((working) => {
        working.mentioned = true;
        return { path: this.#path(working.containers, working.name), sinceMs: working.sinceMs };
      });
  }

  /** `Each Item 3/12 › Price`, `Fan 20/20 › Ask ×4`, `Sort, Draft`; empty when nothing is at work. */
  line(): string {
    const groups = new Map<string, Working[]>();
    for (const working of this.#working.values()) {
      const id = working.containers.join('/');
      groups.set(id, [...(groups.get(id) ?? []), working]);
    }
    if (groups.size === 0) return [...this.#turns.values()].map(turnText).join(' › ');
    const [first = [], ...others] = groups.values();
    const text = this.#path(first[0]?.containers ?? [], namesOf(first));
    const more = others.reduce((sum, group) => sum + group.length, 0);
    return more === 0 ? text : `${text}  +${more}`;
  }

  #path(containers: readonly string[], last: string): string {
    const around = containers.flatMap((id) => {
      const turn = this.#turns.get(id);
      return turn ? turnText(turn) : [];
    });
    return [...around, last].join(' › ');
  }
}

/** Ids of the containers around a block, outermost first. */
export function containersOf(log: BlockLog): string[] {
  return [...log.parents, ...(log.container ? [log.container] : [])].map(({ blockId }) => blockId);
}

function turnText({ name, turn, count }: Turn): string {
  return count === undefined ? `${name} ${turn + 1}` : `${name} ${turn + 1}/${count}`;
}

function namesOf(group: readonly Working[]): string {
  const counts = new Map<string, number>();
  for (const { name } of group) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ');
}
