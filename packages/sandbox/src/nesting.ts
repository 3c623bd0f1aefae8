/** Deeper than anything that a guest can write, and than what its readers walk through. */
export const MOST_LEVELS = 10_000;

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

/** Whether JSON is nested deeper than that many levels. Parsing what is takes longer than its length lets expect. */
export function isNestedDeeper(json: string, levels: number): boolean {
  if (json.length <= levels) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfText(json, at);
    else if (OPEN.has(code)) depth++;
    else if (CLOSE.has(code)) depth--;
    if (depth > levels) return true;
  }
  return false;
}
