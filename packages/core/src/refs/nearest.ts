const MAX_DISTANCE = 2;

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
