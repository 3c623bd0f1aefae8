/** Collects the console output of one job within its limits. */
export class Stdout {
  #text = '';
  #lineCount = 0;
  #isFull = false;
  readonly #maxChars: number;
  readonly #maxLines: number;

  constructor(maxChars: number, maxLines: number) {
    this.#maxChars = maxChars;
    this.#maxLines = maxLines;
  }

  /** Adds a line. Returns false once the limit is reached. */
  add(line: string): boolean {
    if (this.#isFull) return false;
    const text = this.#lineCount === 0 ? line : '\n' + line;
    const remainingChars = this.#maxChars - this.#text.length;
    if (this.#lineCount === this.#maxLines || text.length > remainingChars) {
      this.#text +=
        (this.#lineCount === this.#maxLines ? '' : text.slice(0, remainingChars)) + '\n[stdout truncated]';
      this.#isFull = true;
      return false;
    }
    this.#text += text;
    this.#lineCount++;
    return true;
  }

  /** Returns the lines with newlines between them and none after the last, so a trailing empty line is kept. */
  toString(): string {
    return this.#text;
  }
}
