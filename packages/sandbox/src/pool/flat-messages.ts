const HEADER_BYTES = 4;
/** Start of a value in V8's serialization format: a tag, then the version. */
const VERSION_TAG = 0xff;
const OBJECT_TAG = 0x6f;
const END_OF_OBJECT_TAG = 0x7b;
const PADDING_TAG = 0x00;
const MAX_PROPERTIES = 16;
/** Kind of host object for views of bytes. */
const VIEW_KIND = 0;

const charCodesOf = (tags: string): ReadonlySet<number> => new Set(Buffer.from(tags, 'latin1'));
/** Tags of strings: length, then that many bytes. */
const STRING_TAGS = charCodesOf('"c');
/** Tags of null, undefined, true and false. */
const CONSTANT_TAGS = charCodesOf('0_TF');
/** Tags of integers of variable length. */
const INTEGER_TAGS = charCodesOf('IU');
const DOUBLE_TAG = 0x4e;
const DOUBLE_BYTES = 8;
/** Tag of views of bytes: kind, type, length, then that many bytes. */
const BYTES_TAG = 0x5c;

/** Handles the next byte. Returns whether it is valid. */
type Step = (byte: number) => boolean;

/**
 * Validates the bytes of an IPC channel (Node.js's advanced serialization: a 32-bit length, then V8's format). Accepts
 * only messages that our processes send: one object of strings, numbers and bytes without nesting. Other values can be
 * small in this format, but expand to millions of objects or to unlimited depth.
 */
export class FlatMessageValidator {
  readonly #maxBytes: number;
  /** Remaining bytes of the current message. */
  #remainingBytes = 0;
  /** Remaining bytes of a value that is skipped. */
  #bytesToSkip = 0;
  #number = 0;
  #digitCount = 0;
  #propertyCount = 0;
  #nextStep: Step;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#nextStep = this.#length;
  }

  /** Returns whether everything up to the end of these bytes is valid. */
  accepts(bytes: Uint8Array): boolean {
    for (let position = 0; position < bytes.length;) {
      if (this.#bytesToSkip > 0) {
        const size = Math.min(this.#bytesToSkip, bytes.length - position);
        this.#bytesToSkip -= size;
        this.#remainingBytes -= size;
        position += size;
        continue;
      }
      if (!this.#nextStep(bytes[position++] as number)) return false;
    }
    return true;
  }

  readonly #length: Step = (byte) => {
    this.#number = this.#number * 256 + byte;
    if (++this.#digitCount < HEADER_BYTES) return true;
    this.#remainingBytes = this.#number;
    this.#number = this.#digitCount = this.#propertyCount = 0;
    return this.#remainingBytes <= this.#maxBytes && this.#goTo(this.#tag);
  };

  readonly #tag: Step = (byte) => byte === VERSION_TAG && this.#consume(this.#version);

  readonly #version: Step = (byte) => byte < 128 && this.#consume(this.#object);

  readonly #object: Step = (byte) => byte === OBJECT_TAG && this.#consume(this.#key);

  readonly #key: Step = (byte) => {
    if (byte === PADDING_TAG) return this.#consume(this.#key);
    if (byte === END_OF_OBJECT_TAG) return this.#consume(this.#count);
    return STRING_TAGS.has(byte) && ++this.#propertyCount <= MAX_PROPERTIES && this.#consume(this.#keyLength);
  };

  readonly #keyLength: Step = (byte) => this.#varint(byte, () => this.#skipTo(this.#value));

  readonly #value: Step = (byte) => {
    if (byte === PADDING_TAG) return this.#consume(this.#value);
    if (CONSTANT_TAGS.has(byte)) return this.#consume(this.#key);
    if (STRING_TAGS.has(byte)) return this.#consume(this.#valueLength);
    if (INTEGER_TAGS.has(byte)) return this.#consume(this.#integer);
    if (byte === BYTES_TAG) return this.#consume(this.#hostObjectKind);
    this.#number = DOUBLE_BYTES;
    return byte === DOUBLE_TAG && this.#consume() && this.#skipTo(this.#key);
  };

  readonly #valueLength: Step = (byte) => this.#varint(byte, () => this.#skipTo(this.#key));

  readonly #integer: Step = (byte) => this.#varint(byte, () => this.#goTo(this.#key));

  readonly #hostObjectKind: Step = (byte) => byte === VIEW_KIND && this.#consume(this.#viewType);

  readonly #viewType: Step = (byte) => this.#varint(byte, () => this.#goTo(this.#valueLength));

  /** Ends the message: nothing may follow the property count. */
  readonly #count: Step = (byte) =>
    this.#varint(byte, () => this.#remainingBytes === 0 && this.#goTo(this.#length));

  #goTo(next: Step): boolean {
    this.#number = this.#digitCount = 0;
    this.#nextStep = next;
    return true;
  }

  /** Consumes one byte of the message, which must remain, and continues with `next`. */
  #consume(next?: Step): boolean {
    if (next !== undefined) this.#goTo(next);
    return --this.#remainingBytes >= 0;
  }

  /** Reads a number of seven bits per byte, least significant first. */
  #varint(byte: number, done: () => boolean): boolean {
    if (!this.#consume() || ++this.#digitCount > 5) return false;
    this.#number += (byte & 127) * 128 ** (this.#digitCount - 1);
    return byte > 127 || done();
  }

  /** Skips the number of bytes that was read, then continues with `next`. */
  #skipTo(next: Step): boolean {
    const bytes = this.#number;
    if (bytes > this.#remainingBytes) return false;
    this.#goTo(next);
    this.#bytesToSkip = bytes;
    return true;
  }
}
