/** Maximum edit distance of similar names. */
const MAX_DISTANCE = 2;

/** Maximum length of compared names. Longer names are not typed by hand. */
const MAX_NAME_CHARS = 100;

/**
 * Maximum number of table rows that all searches of one `SimilarNames` compute, so that crafted names cannot cause
 * quadratic time.
 */
const MAX_ROWS = 100_000;

/** Number of cells per row of the distance table: only those within MAX_DISTANCE of the diagonal can matter. */
const BAND_WIDTH = 2 * MAX_DISTANCE + 1;

const OUT_OF_RANGE = MAX_DISTANCE + 1;

/** A name with its edit distance, at most 2. */
export interface SimilarName {
  name: string;
  distance: number;
}

/**
 * Finds similar names. Names are sorted, so that those with a common prefix are compared together.
 *
 * A search compares a common prefix once, and skips all names whose prefix is already too different. Results are
 * cached, and the work of one instance is limited: use an instance for one check, not for the lifetime of a process.
 */
export class SimilarNames {
  readonly #names: readonly string[];
  readonly #cache = new Map<string, SimilarName | undefined>();
  #sortedNames: readonly { name: string; position: number }[] | undefined;
  #rowCount = 0;

  constructor(names: Iterable<string>) {
    this.#names = [...names];
  }

  /**
   * Returns the name most similar to `query`, at most 2 edits away, the first of equals; undefined if there is none or
   * the work limit is reached.
   */
  findNearest(query: string): SimilarName | undefined {
    if (query.length > MAX_NAME_CHARS) return undefined;
    if (!this.#cache.has(query)) this.#cache.set(query, this.#search(query));
    return this.#cache.get(query);
  }

  #search(query: string): SimilarName | undefined {
    const sortedNames = (this.#sortedNames ??= sortNames(this.#names));
    const table = new DistanceTable(query);
    let closestCandidate: Candidate | undefined;
    for (let index = 0; index < sortedNames.length;) {
      const { name, position } = sortedNames[index] as { name: string; position: number };
      const limit = closestCandidate?.distance ?? MAX_DISTANCE;
      this.#rowCount += table.fill(name, limit);
      if (this.#rowCount > MAX_ROWS) return undefined;
      if (table.isExceeded(limit)) {
        index = indexAfterPrefix(sortedNames, index, name.slice(0, table.depth));
        continue;
      }
      index++;
      closestCandidate = closerOf(closestCandidate, { name, distance: table.distance(), position });
    }
    return closestCandidate && { name: closestCandidate.name, distance: closestCandidate.distance };
  }
}

interface Candidate extends SimilarName {
  /** Position in the list of names. */
  position: number;
}

function closerOf(closestCandidate: Candidate | undefined, candidate: Candidate): Candidate | undefined {
  if (candidate.distance > maxDistance(candidate.name)) return closestCandidate;
  if (!closestCandidate || candidate.distance < closestCandidate.distance) return candidate;
  const isEarlier =
    candidate.distance === closestCandidate.distance && candidate.position < closestCandidate.position;
  return isEarlier ? candidate : closestCandidate;
}

/**
 * Returns the maximum edit distance of a similar name. It is less than the length of the name, so that at least one
 * letter is the same: otherwise any two names of two letters would be similar.
 */
function maxDistance(name: string): number {
  return Math.min(MAX_DISTANCE, name.length - 1);
}

function sortNames(names: readonly string[]): { name: string; position: number }[] {
  return names
    .map((name, position) => ({ name, position }))
    .filter(({ name }) => name.length <= MAX_NAME_CHARS)
    .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

/** Returns the length of the common prefix. */
function commonPrefixLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** Returns the first index after `index` whose name does not begin with `prefix`. */
function indexAfterPrefix(sortedNames: readonly { name: string }[], index: number, prefix: string): number {
  let low = index + 1;
  let high = sortedNames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sortedNames[middle]?.name.startsWith(prefix)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The distances from the prefixes of a name to those of `query`: insertions, deletions, substitutions and
 * transpositions of neighbours (optimal string alignment). Row i has the cells of the name's first i characters around
 * column i.
 */
class DistanceTable {
  /** Number of characters of the name that have a row. */
  depth = 0;
  #name = '';
  readonly #query: string;
  readonly #cells: number[];
  readonly #rowMinimums = [0];

  constructor(query: string) {
    this.#query = query;
    this.#cells = Array.from({ length: BAND_WIDTH }, (_, cell) =>
      this.#boundedCost(cell - MAX_DISTANCE, cell - MAX_DISTANCE),
    );
  }

  /**
   * Computes the rows of a name until the name is known to be too different. Rows of the prefix that it shares with the
   * previous name are reused. Returns the number of computed rows, plus 1 for the name itself.
   */
  fill(name: string, limit: number): number {
    const sharedDepth = Math.min(commonPrefixLength(this.#name, name), this.depth);
    this.depth = sharedDepth;
    this.#name = name;
    while (this.depth < name.length && !this.isExceeded(limit)) this.#addRow(++this.depth);
    return this.depth - sharedDepth + 1;
  }

  /** Returns true if no name with this prefix is within `limit`. A transposition may still go back two rows. */
  isExceeded(limit: number): boolean {
    return this.#rowMinimum(this.depth) > limit && this.#rowMinimum(this.depth - 1) >= limit;
  }

  #addRow(row: number): void {
    let minimum = OUT_OF_RANGE;
    for (let cell = 0; cell < BAND_WIDTH; cell++) {
      const column = row + cell - MAX_DISTANCE;
      const cost = this.#boundedCost(column, this.#cost(row, column));
      this.#cells[row * BAND_WIDTH + cell] = cost;
      if (cost < minimum) minimum = cost;
    }
    this.#rowMinimums[row] = minimum;
  }

  /** Returns the minimum of a row. */
  #rowMinimum(row: number): number {
    return this.#rowMinimums[row] ?? OUT_OF_RANGE;
  }

  /** Returns the distance of the whole name. Every character must have a row. */
  distance(): number {
    return this.#cellAt(this.depth, this.#query.length);
  }

  #cost(row: number, column: number): number {
    if (column === 0) return row;
    const name = this.#name;
    const letter = name[row - 1];
    const query = this.#query;
    const cost = Math.min(
      this.#cellAt(row - 1, column) + 1,
      this.#cellAt(row, column - 1) + 1,
      this.#cellAt(row - 1, column - 1) + (letter === query[column - 1] ? 0 : 1),
    );
    const isTransposed =
      row > 1 && column > 1 && letter === query[column - 2] && name[row - 2] === query[column - 1];
    return isTransposed ? Math.min(cost, this.#cellAt(row - 2, column - 2) + 1) : cost;
  }

  #boundedCost(column: number, cost: number): number {
    return column < 0 || column > this.#query.length ? OUT_OF_RANGE : Math.min(cost, OUT_OF_RANGE);
  }

  #cellAt(row: number, column: number): number {
    const cell = column - row + MAX_DISTANCE;
    if (cell < 0 || cell >= BAND_WIDTH) return OUT_OF_RANGE;
    return this.#cells[row * BAND_WIDTH + cell] ?? OUT_OF_RANGE;
  }
}
