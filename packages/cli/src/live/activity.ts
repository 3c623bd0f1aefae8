import type { BlockLog } from '@heddle/core';
import { sanitizeLine } from '../render/style.ts';

/** A block that runs, or waits until a set time. */
interface ActiveBlock {
  name: string;
  /** Ids of the containers around it, outermost first. */
  containers: readonly string[];
  startedMs: number;
  /** True if the block has been reported as slow, or must not be. */
  isReported: boolean;
}

interface Iteration {
  name: string;
  iteration: number;
  count: number | undefined;
}

/** The blocks and iterations that are in progress in a run. */
export class Activity {
  readonly #activeBlocks = new Map<number, ActiveBlock>();
  readonly #iterations = new Map<string, Iteration>();

  start(log: BlockLog): void {
    this.#activeBlocks.set(log.executionOrder, {
      name: sanitizeLine(log.blockName),
      containers: containersOf(log),
      startedMs: log.startedMs,
      isReported: false,
    });
  }

  /** Records that a block waits until a set time. `untilText`: this time as text. */
  wait(log: BlockLog, untilText: string): void {
    this.start(log);
    const activeBlock = this.#activeBlocks.get(log.executionOrder);
    if (activeBlock)
      Object.assign(activeBlock, { name: `${activeBlock.name} (until ${untilText})`, isReported: true });
  }

  end(log: BlockLog): void {
    this.#activeBlocks.delete(log.executionOrder);
    this.#iterations.delete(log.blockId);
  }

  startIteration(
    blockId: string,
    name: string,
    progress: { iteration: number; count: number | undefined },
  ): void {
    this.#iterations.set(blockId, { name: sanitizeLine(name), ...progress });
  }

  /**
   * Returns the blocks that have run for at least `minDurationMs` milliseconds and that no earlier call has returned.
   */
  takeSlowBlocks(nowMs: number, minDurationMs: number): { path: string; startedMs: number }[] {
    return [...this.#activeBlocks.values()]
      .filter((activeBlock) => !activeBlock.isReported && nowMs - activeBlock.startedMs >= minDurationMs)
      .map((activeBlock) => {
        activeBlock.isReported = true;
        return {
          path: this.#path(activeBlock.containers, activeBlock.name),
          startedMs: activeBlock.startedMs,
        };
      });
  }

  /** Returns text such as `Each Item 3/12 › Price`, `Fan 20/20 › Ask ×4`, `Sort, Draft`. Empty if nothing is active. */
  statusText(): string {
    const groups = new Map<string, ActiveBlock[]>();
    for (const activeBlock of this.#activeBlocks.values()) {
      const id = activeBlock.containers.join('/');
      groups.set(id, [...(groups.get(id) ?? []), activeBlock]);
    }
    if (groups.size === 0) return [...this.#iterations.values()].map(iterationText).join(' › ');
    const [firstGroup = [], ...otherGroups] = groups.values();
    const text = this.#path(firstGroup[0]?.containers ?? [], namesOf(firstGroup));
    const otherCount = otherGroups.reduce((sum, group) => sum + group.length, 0);
    return otherCount === 0 ? text : `${text}  +${otherCount}`;
  }

  #path(containers: readonly string[], blockName: string): string {
    const iterations = containers.flatMap((id) => {
      const iteration = this.#iterations.get(id);
      return iteration ? iterationText(iteration) : [];
    });
    return [...iterations, blockName].join(' › ');
  }
}

/** Returns the ids of the containers around a block, outermost first. */
export function containersOf(log: BlockLog): string[] {
  return [...log.parents, ...(log.container ? [log.container] : [])].map(({ blockId }) => blockId);
}

function iterationText({ name, iteration, count }: Iteration): string {
  return count === undefined ? `${name} ${iteration + 1}` : `${name} ${iteration + 1}/${count}`;
}

function namesOf(group: readonly ActiveBlock[]): string {
  const counts = new Map<string, number>();
  for (const { name } of group) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ');
}
