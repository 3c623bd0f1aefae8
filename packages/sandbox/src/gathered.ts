const FIRST_BYTES = 4_096;

/** Bytes that come in pieces of any size, gathered in one place: a piece costs what it holds, and not an object. */
export class Gathered {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, needed, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = needed;
  }

  /** What is there so far; it changes when more comes. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** All of it; none is left. */
  take(): Buffer {
    const all = this.view();
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return all;
  }
}
