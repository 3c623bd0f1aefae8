import { homedir } from 'node:os';
import { StringDecoder } from 'node:string_decoder';

/** Maximum length of the end of a log in the error of a failed build, in characters. */
const MAX_TAIL_CHARS = 4_000;
/** Length of the text from which the tail is taken; longer than the tail, since redaction may shorten the text. */
const BUFFER_CHARS = 8 * MAX_TAIL_CHARS;

/** Maximum length of the whole log of a build, in characters. The beginning of a longer one is dropped. */
export const MAX_LOG_CHARS = 1_048_576;

const TOKEN_PATTERNS: readonly (readonly [RegExp, string])[] = [
  [
    // Only one quantifier matches a run of white space, so that no package can make redaction slow.
    /(_authToken|_auth|_password|authorization|bearer|basic|password|token)(["']?(?:\s*[=:]\s*|[^\S\n]+)["']?(?:(?:bearer|basic|token)[^\S\n]+)?)[^\s"',]+/gi,
    '$1$2***',
  ],
  [/(https?:\/\/)[^\s/@]+@/gi, '$1***@'],
  [/\b(?:npm_|ghp_|pypi-)[A-Za-z0-9_-]{16,}/g, '***'],
];

/** The log of one build: the output of its tools, without secrets and paths. */
export class BuildLog {
  #tailText = '';
  readonly #fullLog = new TailBuffer(MAX_LOG_CHARS);
  readonly #secrets: readonly string[];
  readonly #paths: readonly string[];

  /** `secrets` are strings to remove; `paths` are folders to replace with `…`. */
  constructor(secrets: readonly string[], paths: readonly string[]) {
    this.#secrets = secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
    this.#paths = [...paths, homedir()].filter((path) => path.length > 1).sort((a, b) => b.length - a.length);
  }

  /** Adds output of a tool. */
  add(text: string): void {
    const lines = `${text.trimEnd()}\n`;
    this.#tailText = `${this.#tailText}${lines}`.slice(-BUFFER_CHARS);
    this.#fullLog.add(lines);
  }

  /** Adds a line about the build itself to the whole log, but not to the tail. */
  note(line: string): void {
    this.#fullLog.add(`${line}\n`);
  }

  /** Returns the text without secrets, paths, escape sequences and control characters. */
  redact(text: string): string {
    let cleanText = text;
    for (const secret of this.#secrets) cleanText = cleanText.replaceAll(secret, '***');
    for (const path of this.#paths) cleanText = cleanText.replaceAll(path, '…');
    for (const [pattern, replacement] of TOKEN_PATTERNS) cleanText = cleanText.replace(pattern, replacement);
    // Removes escape sequences for colours and cursor movement.
    return cleanText.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replace(/[^\P{Cc}\n\t]/gu, '');
  }

  /** Returns the end of the log, at most 4,000 characters, with `…` if the beginning is missing. */
  tail(): string {
    const cleanText = this.redact(this.#tailText).trim();
    return truncateStart(cleanText, MAX_TAIL_CHARS);
  }

  /** Returns the whole log, at most 1,048,576 characters, with `…` if the beginning is missing. */
  fullText(): string {
    const { text, isTruncated } = this.#fullLog.read();
    const cleanText = this.redact(text).trim();
    return truncateStart(isTruncated ? `…${cleanText}` : cleanText, MAX_LOG_CHARS);
  }
}

/** Receives the output of a process. */
export type OutputListener = (data: Buffer, stream: 'stdout' | 'stderr') => void;

/**
 * Calls `run` with a listener for the output of a process. The output goes to `log` in whole lines of one stream,
 * because a secret in two parts would not be recognized.
 */
export async function logLines<T>(
  { log }: { log(this: void, text: string): void },
  run: (onOutput: OutputListener) => Promise<T>,
): Promise<T> {
  const lineBuffers = { stdout: new LineBuffer(), stderr: new LineBuffer() };
  const add = (lines: string): void => {
    if (lines !== '') log(lines);
  };
  try {
    return await run((data, stream) => add(lineBuffers[stream].add(data)));
  } finally {
    for (const buffer of Object.values(lineBuffers)) add(buffer.end());
  }
}

/** The incomplete last line of an output. */
class LineBuffer {
  readonly #decoder = new StringDecoder();
  #text = '';

  /** Returns the complete lines. */
  add(data: Buffer): string {
    const text = this.#decoder.write(data);
    const end = text.lastIndexOf('\n') + 1;
    if (end === 0 && this.#text.length + text.length <= MAX_LOG_CHARS) {
      this.#text += text;
      return '';
    }
    const lines = this.#text + text.slice(0, end || text.length);
    this.#text = end === 0 ? '' : text.slice(end);
    return lines;
  }

  end(): string {
    const lastLine = this.#text + this.#decoder.end();
    this.#text = '';
    return lastLine;
  }
}

/** Returns the end of the text, with `…` if the beginning is missing. */
function truncateStart(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `…${text.slice(1 - maxChars)}`;
}

/** Collects text, but stores only its end. Adding takes time in proportion to the added text. */
class TailBuffer {
  readonly #maxChars: number;
  #chunks: string[] = [];
  #chars = 0;
  #isTruncated = false;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  add(text: string): void {
    this.#chunks.push(text);
    this.#chars += text.length;
    if (this.#chars > 2 * this.#maxChars) this.#shorten();
  }

  /** Returns the stored text. It begins with a whole line, because redaction does not recognize part of a secret. */
  read(): { text: string; isTruncated: boolean } {
    if (this.#chars > this.#maxChars) this.#shorten();
    const text = this.#chunks.join('');
    if (!this.#isTruncated) return { text, isTruncated: false };
    const lineEnd = text.indexOf('\n');
    return { text: text.slice(lineEnd + 1), isTruncated: true };
  }

  #shorten(): void {
    const text = this.#chunks.join('').slice(-this.#maxChars);
    this.#chunks = [text];
    this.#chars = text.length;
    this.#isTruncated = true;
  }
}

/** Returns the credentials in registry settings. */
export function secretsOf(value: unknown, key = ''): string[] {
  if (typeof value === 'string') {
    const namedSecrets = /_authToken|_auth|_password|password|token/i.test(key) ? [value] : [];
    const url = URL.canParse(value) ? new URL(value) : undefined;
    // A URL with one part before the @ has a token there.
    const urlSecret = url === undefined ? '' : url.password === '' ? url.username : url.password;
    return [...namedSecrets, urlSecret, decode(urlSecret)].filter((text) => text !== '');
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, nestedValue]) => secretsOf(nestedValue, name));
}

/** Returns the text without percent-encoding, or unchanged if the encoding is invalid. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
