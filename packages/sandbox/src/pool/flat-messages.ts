const HEADER_BYTES = 4;
/** What stands before a value in V8's format: its mark, and the version that this Node.js writes. */
const VERSION_MARK = 0xff;
const OBJECT = 0x6f;
const END_OF_OBJECT = 0x7b;
const PADDING = 0x00;
const MOST_PROPERTIES = 16;
/** Kind of a host object that is a view of bytes. */
const IS_VIEW = 0;

const tags = (text: string): ReadonlySet<number> => new Set(Buffer.from(text, 'latin1'));
/** Texts: length, then that many bytes. */
const TEXTS = tags('"c');
/** Null, undefined, true, false. */
const PLAIN = tags('0_TF');
/** Whole numbers of varying length. */
const WHOLE = tags('IU');
const DOUBLE = 0x4e;
const DOUBLE_BYTES = 8;
/** Bytes: whether they are a view, of which type, length, then that many bytes. */
const BYTES = 0x5c;

type Step = (byte: number) => boolean;

/**
 * Follows the bytes of a channel (Node's advanced serialization: a length of 32 bits, then V8's format) and tells whether they are
 * what our processes send: one object of texts, numbers and bytes, and nothing inside it. All else can be small here and millions
 * of objects, or a depth without end, once it is read.
 */
export class FlatMessages {
  readonly #mostBytes: number;
  /** Of the message that is under way. */
  #left = 0;
  /** Of a value that is passed over. */
  #skip = 0;
  #number = 0;
  #digits = 0;
  #properties = 0;
  #next: Step;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
    this.#next = this.#length;
  }

  /** Whether all is well up to the end of these bytes. */
  take(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length;) {
      if (this.#skip > 0) {
        const step = Math.min(this.#skip, bytes.length - at);
        this.#skip -= step;
        this.#left -= step;
        at += step;
        continue;
      }
      if (!this.#next(bytes[at++] as number)) return false;
    }
    return true;
  }

  readonly #length: Step = (byte) => {
    this.#number = this.#number * 256 + byte;
    if (++this.#digits < HEADER_BYTES) return true;
    this.#left = this.#number;
    this.#number = this.#digits = this.#properties = 0;
    return this.#left <= this.#mostBytes && this.#goTo(this.#mark);
  };

  readonly #mark: Step = (byte) => byte === VERSION_MARK && this.#within(this.#version);

  readonly #version: Step = (byte) => byte < 128 && this.#within(this.#object);

  readonly #object: Step = (byte) => byte === OBJECT && this.#within(this.#key);

  readonly #key: Step = (byte) => {
    if (byte === PADDING) return this.#within(this.#key);
    if (byte === END_OF_OBJECT) return this.#within(this.#count);
    return TEXTS.has(byte) && ++this.#properties <= MOST_PROPERTIES && this.#within(this.#keyLength);
  };

  readonly #keyLength: Step = (byte) => this.#varint(byte, () => this.#pass(this.#value));

  readonly #value: Step = (byte) => {
    if (byte === PADDING) return this.#within(this.#value);
    if (PLAIN.has(byte)) return this.#within(this.#key);
    if (TEXTS.has(byte)) return this.#within(this.#valueLength);
    if (WHOLE.has(byte)) return this.#within(this.#whole);
    if (byte === BYTES) return this.#within(this.#isView);
    this.#number = DOUBLE_BYTES;
    return byte === DOUBLE && this.#within() && this.#pass(this.#key);
  };

  readonly #valueLength: Step = (byte) => this.#varint(byte, () => this.#pass(this.#key));

  readonly #whole: Step = (byte) => this.#varint(byte, () => this.#goTo(this.#key));

  readonly #isView: Step = (byte) => byte === IS_VIEW && this.#within(this.#viewType);

  readonly #viewType: Step = (byte) => this.#varint(byte, () => this.#goTo(this.#valueLength));

  /** Ends the message: there is nothing behind the count of properties. */
  readonly #count: Step = (byte) => this.#varint(byte, () => this.#left === 0 && this.#goTo(this.#length));

  #goTo(next: Step): boolean {
    this.#number = this.#digits = 0;
    this.#next = next;
    return true;
  }

  /** Goes on behind one byte more of the message, which has to be there. */
  #within(next?: Step): boolean {
    if (next !== undefined) this.#goTo(next);
    return --this.#left >= 0;
  }

  /** A number of seven bits a byte, the lowest first. */
  #varint(byte: number, done: () => boolean): boolean {
    if (!this.#within() || ++this.#digits > 5) return false;
    this.#number += (byte & 127) * 128 ** (this.#digits - 1);
    return byte > 127 || done();
  }

  /** Passes over as many bytes as the number says. */
  #pass(next: Step): boolean {
    const bytes = this.#number;
    if (bytes > this.#left) return false;
    this.#goTo(next);
    this.#skip = bytes;
    return true;
  }
}
