/** Returns the number of lines of a text up to `end`. */
export function lineCountOf(text: string, end = text.length): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/**
 * Returns the first `limit` positions of `part`, which is not empty, in a text, without overlaps. Takes O(text + part):
 * `indexOf` and `split` take O(text × part) for repetitive texts.
 */
export function occurrencesOf(part: string, text: string, limit: number): number[] {
  const borders = bordersOf(part);
  const positions: number[] = [];
  let matched = 0;
  for (let at = 0; at < text.length && positions.length < limit; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && code !== part.charCodeAt(matched)) matched = borders[matched - 1] as number;
    if (code === part.charCodeAt(matched)) matched += 1;
    if (matched < part.length) continue;
    positions.push(at + 1 - matched);
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
  for (let at = 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (length > 0 && code !== text.charCodeAt(length)) length = borders[length - 1] as number;
    if (code === text.charCodeAt(length)) length += 1;
    borders[at] = length;
  }
  return borders;
}
