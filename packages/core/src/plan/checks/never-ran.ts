import type { Structure } from '../../graph/structure.ts';
import type { Compilation, Standing } from '../compilation.ts';

/** Steps that all searches of one check may take together, so that a hostile graph cannot make it quadratic. */
const MOST_STEPS = 1_000_000;

/** Says whether a block can have run before another one reads it. */
export class NeverRan {
  readonly #structure: Structure;
  readonly #reached: ReadonlySet<string>;
  readonly #positions = new Map<string, number>();
  readonly #after = new Map<string, ReadonlySet<string>>();
  #steps = 0;

  /** `reached`: the top-level blocks that a start leads to. */
  constructor({ structure }: Compilation, reached: ReadonlySet<string>) {
    this.#structure = structure;
    this.#reached = reached;
    for (const { order } of structure.regions.values())
      order.forEach((id, position) => this.#positions.set(id, position));
  }

  /** Why `target` can never have run when `reader` reads it; undefined when it can. */
  why(reader: string, target: string, standing: Standing): string | undefined {
    const { places, members } = this.#structure;
    const place = places.get(target);
    // The reference compiler reports disabled blocks itself.
    if (!place?.enabled) return undefined;
    const { name } = place.block;
    const from = this.#chain(reader);
    const to = this.#chain(target);
    if (!members.has(target) || this.#isCutOff(from, to)) return `no path leads to "${name}"`;
    const shared = sharedDepth(from, to);
    if (this.#isInLoop(from.slice(0, Math.min(shared, from.length - 1, to.length - 1)))) return undefined;
    if (shared === from.length && standing === 'condition') return undefined;
    if (reader === target) return 'it reads itself';
    if (shared === from.length) return `"${name}" runs inside it`;
    if (shared === to.length) return `"${name}" has not ended while it runs`;
    return this.#isAfter(from[shared] as string, to[shared] as string)
      ? `"${name}" runs after it`
      : undefined;
  }

  #isCutOff([reader = '']: readonly string[], [target = '']: readonly string[]): boolean {
    return this.#reached.has(reader) && !this.#reached.has(target);
  }

  /** In a loop the value of an earlier turn is read. */
  #isInLoop(around: readonly string[]): boolean {
    return around.some((id) => this.#structure.places.get(id)?.block.type === 'loop');
  }

  #chain(id: string): string[] {
    return [...(this.#structure.places.get(id)?.containers ?? []), id];
  }

  /** True when every way to `later` in its region leads through an edge path from `earlier`. */
  #isAfter(earlier: string, later: string): boolean {
    if ((this.#positions.get(later) ?? -1) < (this.#positions.get(earlier) ?? 0)) return false;
    let after = this.#after.get(earlier);
    if (!after) {
      after = this.#search(earlier);
      this.#after.set(earlier, after);
    }
    return after.has(later);
  }

  #search(from: string): ReadonlySet<string> {
    const after = new Set<string>([from]);
    for (const id of after) {
      for (const { target } of this.#structure.outOf.get(id) ?? []) {
        if (++this.#steps > MOST_STEPS) return new Set();
        after.add(target);
      }
    }
    return after;
  }
}

/** How many steps down two chains of containers go together. */
function sharedDepth(one: readonly string[], other: readonly string[]): number {
  const apart = one.findIndex((id, depth) => id !== other[depth]);
  return apart < 0 ? one.length : apart;
}
