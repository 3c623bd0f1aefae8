/** Maximum nesting of arrays and objects. Ordinary values are not nested this deeply. */
const MAX_LEVELS = 10_000;
/** Maximum number of arrays and objects; parsing this many takes about 0.2 s. */
const MAX_CONTAINERS = 500_000;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING_BRACKETS: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING_BRACKETS: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Returns the index of the quote that ends the string at `start`, or the length of `json`. */
function endOfString(json: string, start: number): number {
  for (let index = start + 1; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === BACKSLASH) index++;
    else if (code === QUOTE) return index;
  }
  return json.length;
}

/**
 * Returns which limit JSON exceeds, such as 'more than 10000 levels', or undefined if none. Parsing JSON that is too
 * complex would block the host, even if the string is short.
 */
export function findExceededComplexityLimit(
  json: string,
  limits = { levels: MAX_LEVELS, containers: MAX_CONTAINERS },
): string | undefined {
  if (json.length <= Math.min(limits.levels, limits.containers)) return undefined;
  let [depth, containerCount] = [0, 0];
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === QUOTE) index = endOfString(json, index);
    else if (CLOSING_BRACKETS.has(code)) depth--;
    else if (OPENING_BRACKETS.has(code)) {
      if (++depth > limits.levels) return `more than ${limits.levels} levels`;
      if (++containerCount > limits.containers) return `more than ${limits.containers} lists and objects`;
    }
  }
  return undefined;
}
