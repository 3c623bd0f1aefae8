type Pair = [name: string, value: string];
type HeadersInit = Headers | Iterable<readonly [string, string]> | Record<string, string> | null | undefined;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function normalizeName(name: unknown): string {
  const text = String(name);
  if (!HEADER_NAME.test(text)) throw new TypeError(`"${text}" is not a valid header name`);
  return text.toLowerCase();
}

/** Headers of a request or response; names are case-insensitive. */
export class Headers implements Iterable<Pair> {
  readonly #pairs: Pair[] = [];

  constructor(init?: HeadersInit) {
    if (init === null || init === undefined) return;
    const pairs =
      typeof (init as Iterable<unknown>)[Symbol.iterator] === 'function'
        ? (init as Iterable<Pair>)
        : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value as string);
  }

  append(name: string, value: string): void {
    this.#pairs.push([normalizeName(name), String(value).trim()]);
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  delete(name: string): void {
    const key = normalizeName(name);
    for (let i = this.#pairs.length - 1; i >= 0; i--)
      if (this.#pairs[i]?.[0] === key) this.#pairs.splice(i, 1);
  }

  get(name: string): string | null {
    const key = normalizeName(name);
    const values = this.#pairs.filter(([other]) => other === key).map(([, value]) => value);
    return values.length === 0 ? null : values.join(', ');
  }

  getSetCookie(): string[] {
    return this.#pairs.filter(([name]) => name === 'set-cookie').map(([, value]) => value);
  }

  has(name: string): boolean {
    const key = normalizeName(name);
    return this.#pairs.some(([other]) => other === key);
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArg?: unknown): void {
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  *entries(): IterableIterator<Pair> {
    const names = [...new Set(this.#pairs.map(([name]) => name))].sort();
    for (const name of names) {
      if (name === 'set-cookie') for (const cookie of this.getSetCookie()) yield [name, cookie];
      else yield [name, this.get(name) as string];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator](): IterableIterator<Pair> {
    return this.entries();
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(this);
  }
}
