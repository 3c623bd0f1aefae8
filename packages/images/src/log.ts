import { homedir } from 'node:os';

/** Maximum length of the log of a failed build. */
const TAIL_CHARS = 4_000;
/** More than the tail, since redaction may shorten the text. */
const KEPT_CHARS = 8 * TAIL_CHARS;

const TOKENS: readonly (readonly [RegExp, string])[] = [
  [
    /(_authToken|_auth|_password|authorization|bearer|basic|password|token)(["']?\s*[=: ]\s*["']?)[^\s"',]+/gi,
    '$1$2***',
  ],
  [/(https?:\/\/)[^\s/@]+@/gi, '$1***@'],
  [/\b(?:npm_|ghp_|pypi-)[A-Za-z0-9_-]{16,}/g, '***'],
];

/** The log of one build: the output of its tools, without secrets and paths. */
export class BuildLog {
  #text = '';
  readonly #secrets: readonly string[];
  readonly #paths: readonly string[];

  /** `secrets` are texts to remove; `paths` are folders to replace with `…`. */
  constructor(secrets: readonly string[], paths: readonly string[]) {
    this.#secrets = secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
    this.#paths = [...paths, homedir()].filter((path) => path.length > 1).sort((a, b) => b.length - a.length);
  }

  add(text: string): void {
    this.#text = `${this.#text}${text.trimEnd()}\n`.slice(-KEPT_CHARS);
  }

  /** Removes tokens and paths from the text. */
  redact(text: string): string {
    let clean = text;
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, '***');
    for (const path of this.#paths) clean = clean.replaceAll(path, '…');
    for (const [pattern, instead] of TOKENS) clean = clean.replace(pattern, instead);
    // Removes escape sequences for colours and cursor movement.
    return clean.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replace(/[^\P{Cc}\n\t]/gu, '');
  }

  /** Returns the end of the log, at most 4,000 characters, with `…` if the beginning is missing. */
  tail(): string {
    const clean = this.redact(this.#text).trim();
    return clean.length <= TAIL_CHARS ? clean : `…${clean.slice(1 - TAIL_CHARS)}`;
  }
}

/** Returns the credentials in registry settings. */
export function secretsOf(value: unknown, key = ''): string[] {
  if (typeof value === 'string') {
    const named = /_authToken|_auth|_password|password|token/i.test(key) ? [value] : [];
    const url = URL.canParse(value) ? new URL(value) : null;
    const inUrl = [url?.password ?? '', decodeURIComponent(url?.password ?? '')];
    return [...named, ...inUrl].filter((text) => text !== '');
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([inner, item]) => secretsOf(item, inner));
}
