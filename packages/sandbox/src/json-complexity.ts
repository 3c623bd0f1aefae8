/** Nesting of lists and objects: deeper than programs write, and than they can walk through. */
const MOST_LEVELS = 10_000;
/** Lists and objects in total; this many take a fifth of a second to parse. */
const MOST_PARTS = 500_000;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPEN: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSE: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Returns the index of the quote that ends the string at `start`, or the length of the text. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return json.length;
}

/** Returns why JSON is too complex to parse, or null. Parsing blocks the host, also for a text of an allowed length. */
export function complexityExcess(
  json: string,
  most = { levels: MOST_LEVELS, parts: MOST_PARTS },
): string | null {
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
