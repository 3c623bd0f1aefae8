import { CustomEvent, Event, EventTarget } from './events.ts';

/** Legacy codes of error names (Web IDL, DOMException names table). */
const LEGACY_CODES: Readonly<Record<string, number>> = {
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  InvalidCharacterError: 5,
  NotFoundError: 8,
  NotSupportedError: 9,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  DataCloneError: 25,
};

/** The error class of web interfaces; errors are distinguished by name. */
export class DOMException extends Error {
  override readonly name: string;
  readonly code: number;

  constructor(message = '', name = 'Error') {
    super(String(message));
    this.name = String(name);
    this.code = Object.hasOwn(LEGACY_CODES, this.name) ? (LEGACY_CODES[this.name] as number) : 0;
    Object.defineProperty(this, 'name', { enumerable: false });
    Object.defineProperty(this, 'code', { enumerable: false });
  }
}

const CREATE = Symbol('create');

function reasonOrDefault(reason: unknown, message: string, name: string): unknown {
  return reason === undefined ? new DOMException(message, name) : reason;
}

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason: unknown;
  onabort: ((event: Event) => unknown) | null = null;

  constructor(token?: symbol) {
    super();
    if (token !== CREATE) throw new TypeError('An AbortSignal cannot be constructed; use an AbortController');
  }

  static abort(reason?: unknown): AbortSignal {
    const signal = new AbortSignal(CREATE);
    signal.#abort(reasonOrDefault(reason, 'This operation was aborted', 'AbortError'));
    return signal;
  }

  static timeout(ms: number): AbortSignal {
    const signal = new AbortSignal(CREATE);
    setTimeout(
      () =>
        signal.#abort(reasonOrDefault(undefined, 'The operation was aborted due to timeout', 'TimeoutError')),
      ms,
    );
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const combinedSignal = new AbortSignal(CREATE);
    for (const signal of signals) {
      if (signal.aborted) {
        combinedSignal.#abort(signal.reason);
        break;
      }
      signal.addEventListener('abort', () => combinedSignal.#abort(signal.reason));
    }
    return combinedSignal;
  }

  /** Returns a signal and the function that aborts it. */
  static create(): [AbortSignal, (reason?: unknown) => void] {
    const signal = new AbortSignal(CREATE);
    return [
      signal,
      (reason) => signal.#abort(reasonOrDefault(reason, 'This operation was aborted', 'AbortError')),
    ];
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  #abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const event = new Event('abort');
    this.onabort?.(event);
    this.dispatchEvent(event);
  }
}

const { create } = AbortSignal;
delete (AbortSignal as { create?: unknown }).create;

export class AbortController {
  readonly signal: AbortSignal;
  readonly #abort: (reason?: unknown) => void;

  constructor() {
    [this.signal, this.#abort] = create();
  }

  abort(reason?: unknown): void {
    this.#abort(reason);
  }
}

export { CustomEvent, Event, EventTarget };
