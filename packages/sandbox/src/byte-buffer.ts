const INITIAL_BYTES = 4_096;

/** A growable byte buffer. Small chunks cost only their bytes, not one object each. */
export class ByteBuffer {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    const neededBytes = this.#length + chunk.length;
    if (neededBytes > this.#bytes.length) {
      const largerBuffer = Buffer.allocUnsafeSlow(
        Math.max(INITIAL_BYTES, neededBytes, 2 * this.#bytes.length),
      );
      largerBuffer.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = largerBuffer;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = neededBytes;
  }

  /** Returns a view of the bytes, valid until the next `add`. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Returns all bytes and empties the buffer. */
  take(): Buffer {
    const allBytes = this.view();
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return allBytes;
  }
}
