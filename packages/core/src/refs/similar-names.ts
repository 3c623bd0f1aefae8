/** Maximum edit distance of similar names. */
const MAX_DISTANCE = 2;

/** Longer names are not compared, because they are not typed by hand. */
const COMPARED_CHARS = 100;

/**
 * Maximum number of rows that all searches of one `SimilarNames` compute, so that hostile names cannot make it
 * quadratic.
 */
const MAX_ROWS = 100_000;

/** Cells of a row: only those within MAX_DISTANCE of the diagonal can matter. */
const BAND = 2 * MAX_DISTANCE + 1;

const FAR = MAX_DISTANCE + 1;

/** A name with its edit distance, at most 2. */
export interface SimilarName {
  name: string;
  distance: number;
}

/**
 * Finds similar names. Names are sorted, so that those with a common prefix are compared together.
 *
 * A search compares a common prefix once, and skips all names whose prefix is already too different. Results are
 * cached, and the work of one instance is limited: use an instance for one check, not for the life of a process.
 */
export class SimilarNames {
  readonly #names: readonly string[];
  readonly #found = new Map<string, SimilarName | undefined>();
  #sorted: readonly { name: string; at: number }[] | undefined;
  #rows = 0;

  constructor(names: Iterable<string>) {
    this.#names = [...names];
  }

  /**
   * Returns the name most similar to `wanted`, at most 2 edits away, the first of equals; undefined if there is none or
   * the work limit is reached.
   */
  nearest(wanted: string): SimilarName | undefined {
    if (wanted.length > COMPARED_CHARS) return undefined;
    if (!this.#found.has(wanted)) this.#found.set(wanted, this.#search(wanted));
    return this.#found.get(wanted);
  }

  #search(wanted: string): SimilarName | undefined {
    const sorted = (this.#sorted ??= sort(this.#names));
    const table = new DistanceTable(wanted);
    let best: Candidate | undefined;
    for (let index = 0; index < sorted.length;) {
      const { name, at } = sorted[index] as { name: string; at: number };
      const limit = best?.distance ?? MAX_DISTANCE;
      this.#rows += table.fill(name, limit);
      if (this.#rows > MAX_ROWS) return undefined;
      if (table.isLost(limit)) {
        index = indexAfterPrefix(sorted, index, name.slice(0, table.depth));
        continue;
      }
      index++;
      best = closer(best, { name, distance: table.distance(), at });
    }
    return best && { name: best.name, distance: best.distance };
  }
}

interface Candidate extends SimilarName {
  /** Position in the given list of names. */
  at: number;
}

function closer(best: Candidate | undefined, found: Candidate): Candidate | undefined {
  if (found.distance > maxDistance(found.name)) return best;
  if (!best || found.distance < best.distance) return found;
  return found.distance === best.distance && found.at < best.at ? found : best;
}

/** Any two names of two letters are two edits apart, so similar names must have something in common. */
function maxDistance(name: string): number {
  return Math.min(MAX_DISTANCE, name.length - 1);
}

function sort(names: readonly string[]): { name: string; at: number }[] {
  return names
    .map((name, at) => ({ name, at }))
    .filter(({ name }) => name.length <= COMPARED_CHARS)
    .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

/** Returns the length of the common prefix. */
function commonPrefixLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

/** Returns the first index after `from` whose name does not begin with `start`. */
function indexAfterPrefix(sorted: readonly { name: string }[], from: number, start: string): number {
  let least = from + 1;
  let most = sorted.length;
  while (least < most) {
    const middle = (least + most) >> 1;
    if (sorted[middle]?.name.startsWith(start)) least = middle + 1;
    else most = middle;
  }
  return least;
}

/**
 * The distances from the prefixes of a name to those of `wanted`: insertions, deletions, substitutions and
 * transpositions of neighbours (optimal string alignment). Row i has the cells of the name's first i characters around
 * column i.
 */
class DistanceTable {
  /** Number of characters of the name that have a row. */
  depth = 0;
  #name = '';
  readonly #wanted: string;
  readonly #cells: number[];
  readonly #least = [0];

  constructor(wanted: string) {
    this.#wanted = wanted;
    this.#cells = Array.from({ length: BAND }, (_, cell) =>
      this.#inside(cell - MAX_DISTANCE, cell - MAX_DISTANCE),
    );
  }

  /**
   * Computes the rows of a name until the name is known to be too different. Rows of the prefix that it shares with the
   * previous name are kept. Returns the number of rows.
   */
  fill(name: string, limit: number): number {
    const from = Math.min(commonPrefixLength(this.#name, name), this.depth);
    this.depth = from;
    this.#name = name;
    while (this.depth < name.length && !this.isLost(limit)) this.#add(++this.depth);
    return this.depth - from + 1;
  }

  /** Returns true if no name with this prefix is within `limit`. A transposition may still go back two rows. */
  isLost(limit: number): boolean {
    return this.#leastAt(this.depth) > limit && this.#leastAt(this.depth - 1) >= limit;
  }

  #add(row: number): void {
    let least = FAR;
    for (let cell = 0; cell < BAND; cell++) {
      const column = row + cell - MAX_DISTANCE;
      const cost = this.#inside(column, this.#cost(row, column));
      this.#cells[row * BAND + cell] = cost;
      if (cost < least) least = cost;
    }
    this.#least[row] = least;
  }

  /** Returns the minimum of a row. */
  #leastAt(row: number): number {
    return this.#least[row] ?? FAR;
  }

  /** Returns the distance of the whole name. Every character must have a row. */
  distance(): number {
    return this.#at(this.depth, this.#wanted.length);
  }

  #cost(row: number, column: number): number {
    if (column === 0) return row;
    const name = this.#name;
    const letter = name[row - 1];
    const wanted = this.#wanted;
    const cost = Math.min(
      this.#at(row - 1, column) + 1,
      this.#at(row, column - 1) + 1,
      this.#at(row - 1, column - 1) + (letter === wanted[column - 1] ? 0 : 1),
    );
    const swapped =
      row > 1 && column > 1 && letter === wanted[column - 2] && name[row - 2] === wanted[column - 1];
    return swapped ? Math.min(cost, this.#at(row - 2, column - 2) + 1) : cost;
  }

  #inside(column: number, cost: number): number {
    return column < 0 || column > this.#wanted.length ? FAR : Math.min(cost, FAR);
  }

  #at(row: number, column: number): number {
    const cell = column - row + MAX_DISTANCE;
    return cell < 0 || cell >= BAND ? FAR : (this.#cells[row * BAND + cell] ?? FAR);
  }
}
