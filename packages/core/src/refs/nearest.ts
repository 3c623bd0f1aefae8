const MAX_DISTANCE = 2;

/** Deletions are taken from so many leading characters: enough to tell names apart, and few for long ones. */
const PREFIX = 8;

/**
 * Names, laid out so that a near one is found without a comparison with all of them.
 *
 * Symmetric deletes (Garbe 2012): of two texts within 2 edits, the beginnings have something in common after at most
 * 2 deletions in each.
 */
export class NearNames {
  readonly #names: readonly string[];
  #byRest: Map<string, number[]> | undefined;

  constructor(names: Iterable<string>) {
    this.#names = [...names];
  }

  /** The name nearest to `wanted`, at most 2 edits away; the first of equals. */
  nearest(wanted: string): { name: string; distance: number } | undefined {
    const byRest = (this.#byRest ??= this.#index());
    const found = new Set([...rests(wanted)].flatMap((rest) => byRest.get(rest) ?? []));
    const inOrder = [...found].sort((a, b) => a - b);
    return nearest(
      wanted,
      inOrder.map((at) => this.#names[at] as string),
    );
  }

  #index(): Map<string, number[]> {
    const byRest = new Map<string, number[]>();
    this.#names.forEach((name, at) => {
      for (const rest of rests(name)) {
        const list = byRest.get(rest);
        if (list) list.push(at);
        else byRest.set(rest, [at]);
      }
    });
    return byRest;
  }
}

/** What is left of the beginning of `text` after up to 2 deletions. */
function rests(text: string): Set<string> {
  const all = new Set([text.slice(0, PREFIX)]);
  let last = [...all];
  for (let deletion = 0; deletion < MAX_DISTANCE; deletion++) {
    last = last.flatMap((rest) =>
      Array.from({ length: rest.length }, (_, at) => rest.slice(0, at) + rest.slice(at + 1)),
    );
    for (const rest of last) all.add(rest);
  }
  return all;
}

/** The name nearest to `wanted`, at most 2 edits away; the first of equals. Names are compared as they are. */
export function nearest(
  wanted: string,
  names: Iterable<string>,
): { name: string; distance: number } | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const name of names) {
    // A name of two letters is two edits away from any other: nearness must leave something in common.
    const limit = Math.min(
      MAX_DISTANCE,
      best === undefined ? MAX_DISTANCE : best.distance - 1,
      name.length - 1,
    );
    if (Math.abs(name.length - wanted.length) > limit) continue;
    const distance = editDistance(wanted, name);
    if (distance <= limit) best = { name, distance };
  }
  return best;
}

/** Inserts, deletions, replacements and swaps of neighbours (optimal string alignment) that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
