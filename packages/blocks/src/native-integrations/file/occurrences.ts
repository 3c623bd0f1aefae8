/** Returns the number of lines of a text up to `end`. */
export function lineCountOf(text: string, end = text.length): number {
  let count = 1;
  let index = text.indexOf('\n');
  for (; index >= 0 && index < end; index = text.indexOf('\n', index + 1)) count += 1;
  return count;
}

/**
 * Returns the positions of the first `limit` occurrences of `substring` in `text`, without overlaps. `substring` must
 * not be empty. Takes O(text + substring): `indexOf` and `split` take O(text × substring) for repetitive texts.
 */
export function occurrencesOf(substring: string, text: string, limit: number): number[] {
  const borders = bordersOf(substring);
  const positions: number[] = [];
  let matchedLength = 0;
  for (let index = 0; index < text.length && positions.length < limit; index += 1) {
    const charCode = text.charCodeAt(index);
    while (matchedLength > 0 && charCode !== substring.charCodeAt(matchedLength))
      matchedLength = borders[matchedLength - 1] as number;
    if (charCode === substring.charCodeAt(matchedLength)) matchedLength += 1;
    if (matchedLength < substring.length) continue;
    positions.push(index + 1 - matchedLength);
    matchedLength = 0;
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
    const charCode = text.charCodeAt(index);
    while (length > 0 && charCode !== text.charCodeAt(length)) length = borders[length - 1] as number;
    if (charCode === text.charCodeAt(length)) length += 1;
    borders[index] = length;
  }
  return borders;
}
