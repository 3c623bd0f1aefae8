import { homedir } from 'node:os';

/** Characters of the log that are kept for a failed build. */
const TAIL_CHARS = 4_000;
/** More than the tail, since redaction may shorten it. */
const KEPT_CHARS = 8 * TAIL_CHARS;

const TOKENS: readonly (readonly [RegExp, string])[] = [
  [
    /(_authToken|_auth|_password|authorization|bearer|basic|password|token)(["']?\s*[=: ]\s*["']?)[^\s"',]+/gi,
    '$1$2***',
  ],
  [/(https?:\/\/)[^\s/@]+@/gi, '$1***@'],
  [/\b(?:npm_|ghp_|pypi-)[A-Za-z0-9_-]{16,}/g, '***'],
];

/** The log of one build: whatever its tools said, without what is nobody's business. */
export class BuildLog {
  #text = '';
  readonly #secrets: readonly string[];
  readonly #paths: readonly string[];

  /** `secrets` are texts that never leave; `paths` are folders that stand as `…` in the log. */
  constructor(secrets: readonly string[], paths: readonly string[]) {
    this.#secrets = secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
    this.#paths = [...paths, homedir()].filter((path) => path.length > 1).sort((a, b) => b.length - a.length);
  }

  add(text: string): void {
    this.#text = `${this.#text}${text.trimEnd()}\n`.slice(-KEPT_CHARS);
  }

  /** The text without tokens and paths. */
  redact(text: string): string {
    let clean = text;
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, '***');
    for (const path of this.#paths) clean = clean.replaceAll(path, '…');
    for (const [pattern, instead] of TOKENS) clean = clean.replace(pattern, instead);
    // Colours and cursors of tools mean nothing here.
    return clean.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replace(/[^\P{Cc}\n\t]/gu, '');
  }

  /** The end of the log, at most 4,000 characters, with `…` where its beginning is missing. */
  tail(): string {
    const clean = this.redact(this.#text).trim();
    return clean.length <= TAIL_CHARS ? clean : `…${clean.slice(1 - TAIL_CHARS)}`;
  }
}

/** The credentials in the settings of registries. */
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
