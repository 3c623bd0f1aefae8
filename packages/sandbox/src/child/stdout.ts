/** Console output of one job, within its limits. */
export class Stdout {
  #text = '';
  #lines = 0;
  #full = false;
  readonly #maxChars: number;
  readonly #maxLines: number;

  constructor(maxChars: number, maxLines: number) {
    this.#maxChars = maxChars;
    this.#maxLines = maxLines;
  }

  /** Adds a line; false once no more is taken. */
  add(line: string): boolean {
    if (this.#full) return false;
    const text = this.#lines === 0 ? line : '\n' + line;
    const room = this.#maxChars - this.#text.length;
    if (this.#lines === this.#maxLines || text.length > room) {
      this.#text += (this.#lines === this.#maxLines ? '' : text.slice(0, room)) + '\n[stdout truncated]';
      this.#full = true;
      return false;
    }
    this.#text += text;
    this.#lines++;
    return true;
  }

  /** The lines with newlines between them: the last one has none, so an empty line at the end keeps its own. */
  toString(): string {
    return this.#text;
  }
}
