import { bytesOf } from './bytes.ts';

const fromCodePoint = String.fromCodePoint;
const ENCODING_BY_LABEL: Readonly<Record<string, string>> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'unicode-1-1-utf-8': 'utf-8',
  latin1: 'windows-1252',
  'iso-8859-1': 'windows-1252',
  ascii: 'windows-1252',
  'us-ascii': 'windows-1252',
  'windows-1252': 'windows-1252',
  'utf-16le': 'utf-16le',
  'utf-16': 'utf-16le',
};
/** The characters of the bytes 0x80 to 0x9f. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Returns a string as UTF-8; lone surrogates become U+FFFD. */
export function encode(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 3);
  let end = 0;
  for (let i = 0; i < text.length; i++) {
    let codePoint = text.codePointAt(i) as number;
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) codePoint = 0xfffd;
    if (codePoint < 0x80) {
      bytes[end++] = codePoint;
    } else if (codePoint < 0x800) {
      bytes[end++] = 0xc0 | (codePoint >> 6);
      bytes[end++] = 0x80 | (codePoint & 63);
    } else if (codePoint < 0x10000) {
      bytes[end++] = 0xe0 | (codePoint >> 12);
      bytes[end++] = 0x80 | ((codePoint >> 6) & 63);
      bytes[end++] = 0x80 | (codePoint & 63);
    } else {
      i++;
      bytes[end++] = 0xf0 | (codePoint >> 18);
      bytes[end++] = 0x80 | ((codePoint >> 12) & 63);
      bytes[end++] = 0x80 | ((codePoint >> 6) & 63);
      bytes[end++] = 0x80 | (codePoint & 63);
    }
  }
  return bytes.slice(0, end);
}

interface DecodeResult {
  readonly text: string;
  /** Number of trailing bytes of an incomplete character. */
  readonly incompleteBytes: number;
  readonly isValid: boolean;
}

interface Utf8Character {
  readonly codePoint: number;
  /** Index of the next character. */
  readonly nextIndex: number;
  readonly state: 'complete' | 'incomplete' | 'invalid';
}

/**
 * Returns how many bytes follow the lead byte of a multi-byte character, and the range of the first of them (Encoding
 * standard, UTF-8 decoder).
 */
function continuationOf(byte: number): readonly [needed: number, low: number, high: number] {
  if (byte >= 0xc2 && byte <= 0xdf) return [1, 0x80, 0xbf];
  if (byte >= 0xe0 && byte <= 0xef) return [2, byte === 0xe0 ? 0xa0 : 0x80, byte === 0xed ? 0x9f : 0xbf];
  if (byte >= 0xf0 && byte <= 0xf4) return [3, byte === 0xf0 ? 0x90 : 0x80, byte === 0xf4 ? 0x8f : 0xbf];
  return [0, 0, 0];
}

function readMultiByteCharacter(bytes: Uint8Array, start: number): Utf8Character {
  const byte = bytes[start] as number;
  const [neededBytes, low, high] = continuationOf(byte);
  let codePoint = byte & (0x3f >> neededBytes);
  let nextIndex = start + 1;
  for (const end = start + neededBytes; nextIndex <= end && nextIndex < bytes.length; nextIndex++) {
    const continuation = bytes[nextIndex] as number;
    if (continuation < (nextIndex === start + 1 ? low : 0x80)) break;
    if (continuation > (nextIndex === start + 1 ? high : 0xbf)) break;
    codePoint = (codePoint << 6) | (continuation & 63);
  }
  if (neededBytes > 0 && nextIndex > start + neededBytes) return { codePoint, nextIndex, state: 'complete' };
  return {
    codePoint: 0xfffd,
    nextIndex,
    state: neededBytes > 0 && nextIndex === bytes.length ? 'incomplete' : 'invalid',
  };
}

function decodeUtf8(bytes: Uint8Array, isStreaming: boolean): DecodeResult {
  let text = '';
  let isValid = true;
  for (let index = 0; index < bytes.length;) {
    const byte = bytes[index] as number;
    if (byte < 0x80) {
      text += fromCodePoint(byte);
      index++;
      continue;
    }
    const { codePoint, nextIndex, state } = readMultiByteCharacter(bytes, index);
    if (isStreaming && state === 'incomplete')
      return { text, incompleteBytes: bytes.length - index, isValid };
    isValid &&= state === 'complete';
    text += fromCodePoint(codePoint);
    index = nextIndex;
  }
  return { text, incompleteBytes: 0, isValid };
}

/** UTF-16LE decoder of the Encoding standard: a surrogate without its pair, or an odd last byte, becomes U+FFFD. */
function decodeUtf16(bytes: Uint8Array, isStreaming: boolean): DecodeResult {
  let codeUnits = '';
  for (let index = 0; index + 1 < bytes.length; index += 2)
    codeUnits += String.fromCharCode((bytes[index] as number) | ((bytes[index + 1] as number) << 8));
  // The pair of a high surrogate at the end may be in the next bytes.
  const completeCodeUnits = codeUnits.replace(/[\ud800-\udbff]$/, '');
  const incompleteBytes = bytes.length - 2 * completeCodeUnits.length;
  const text = completeCodeUnits.toWellFormed();
  if (isStreaming) return { text, incompleteBytes, isValid: text === completeCodeUnits };
  if (incompleteBytes > 0) return { text: `${text}\ufffd`, incompleteBytes: 0, isValid: false };
  return { text, incompleteBytes: 0, isValid: text === completeCodeUnits };
}

function decodeWindows1252(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes)
    text += byte >= 0x80 && byte < 0xa0 ? WINDOWS_1252[byte - 0x80] : String.fromCharCode(byte);
  return text;
}

/** Decodes UTF-8; invalid bytes become U+FFFD and a byte order mark is dropped. */
export function decode(bytes: Uint8Array): string {
  const { text } = decodeUtf8(bytes, false);
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

export class TextEncoder {
  get encoding(): string {
    return 'utf-8';
  }

  encode(text: unknown = ''): Uint8Array {
    return encode(String(text));
  }

  encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

export class TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  #pendingBytes: Uint8Array = new Uint8Array(0);
  #hasBegun = false;

  constructor(label: unknown = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const name = String(label).trim().toLowerCase();
    const encoding = Object.hasOwn(ENCODING_BY_LABEL, name) ? ENCODING_BY_LABEL[name] : undefined;
    if (encoding === undefined)
      throw new RangeError(`The encoding "${name}" is not supported; use utf-8, utf-16le or latin1`);
    this.encoding = encoding;
    this.fatal = options.fatal === true;
    this.ignoreBOM = options.ignoreBOM === true;
  }

  decode(input?: unknown, options: { stream?: boolean } = {}): string {
    const isStreaming = options.stream === true;
    const bytes = this.#prependPending(
      input === undefined ? new Uint8Array(0) : bytesOf(input, 'The input of decode()'),
    );
    let text = this.#decodeBytes(bytes, isStreaming);
    const hasText = text !== '';
    if (!this.#hasBegun && !this.ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    this.#hasBegun = isStreaming && (this.#hasBegun || hasText);
    return text;
  }

  #decodeBytes(bytes: Uint8Array, isStreaming: boolean): string {
    if (this.encoding === 'windows-1252') return decodeWindows1252(bytes);
    const decodeUnicode = this.encoding === 'utf-16le' ? decodeUtf16 : decodeUtf8;
    const { text, incompleteBytes, isValid } = decodeUnicode(bytes, isStreaming);
    if (!isValid && this.fatal) throw new TypeError(`The bytes are not valid ${this.encoding}`);
    this.#pendingBytes = incompleteBytes === 0 ? new Uint8Array(0) : bytes.slice(-incompleteBytes);
    return text;
  }

  #prependPending(bytes: Uint8Array): Uint8Array {
    if (this.#pendingBytes.length === 0) return bytes;
    const joinedBytes = new Uint8Array(this.#pendingBytes.length + bytes.length);
    joinedBytes.set(this.#pendingBytes);
    joinedBytes.set(bytes, this.#pendingBytes.length);
    this.#pendingBytes = new Uint8Array(0);
    return joinedBytes;
  }
}
