/** Returns the number of lines of a text up to `end`. */
export function lineCountOf(text: string, end = text.length): number {
  let count = 1;
  let index = text.indexOf('\n');
  for (; index >= 0 && index < end; index = text.indexOf('\n', index + 1)) count += 1;
  return count;
}

/**
 * Returns the positions of the first `limit` occurrences of `part` in `text`, without overlaps. `part` must not be
 * empty. Takes O(text + part): `indexOf` and `split` take O(text × part) for repetitive texts.
 */
export function occurrencesOf(part: string, text: string, limit: number): number[] {
  const borders = bordersOf(part);
  const positions: number[] = [];
  let matched = 0;
  for (let index = 0; index < text.length && positions.length < limit; index += 1) {
    const code = text.charCodeAt(index);
    while (matched > 0 && code !== part.charCodeAt(matched)) matched = borders[matched - 1] as number;
    if (code === part.charCodeAt(matched)) matched += 1;
    if (matched < part.length) continue;
    positions.push(index + 1 - matched);
    matched = 0;
  }
  return positions;
}

/**
 * Returns, for each prefix of a text, the length of its longest proper prefix that is also a suffix (Knuth, Morris,
 * Pratt).
 */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let length = 0;
  for (let index = 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    while (length > 0 && code !== text.charCodeAt(length)) length = borders[length - 1] as number;
    if (code === text.charCodeAt(length)) length += 1;
    borders[index] = length;
  }
  return borders;
}
