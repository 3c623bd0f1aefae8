/** Lists and objects inside each other: more than anything writes, or walks through. */
const MOST_LEVELS = 10_000;
/** Lists and objects in all: what takes a fifth of a second to parse. */
const MOST_PARTS = 500_000;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPEN: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSE: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** The place of the quote that ends the text at `start`, or the end of all. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return json.length;
}

/** Why JSON is not to be parsed, although its length is allowed: the host is busy for as long as it takes. Null: it may be. */
export function excessOf(json: string, most = { levels: MOST_LEVELS, parts: MOST_PARTS }): string | null {
  if (json.length <= Math.min(most.levels, most.parts)) return null;
  let [depth, parts] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfText(json, at);
    else if (CLOSE.has(code)) depth--;
    else if (OPEN.has(code)) {
      if (++depth > most.levels) return `more than ${most.levels} levels`;
      if (++parts > most.parts) return `more than ${most.parts} lists and objects`;
    }
  }
  return null;
}
