interface Listener {
  readonly type: string;
  readonly callback: ((event: Event) => unknown) | { handleEvent(event: Event): unknown };
  readonly capture: boolean;
  readonly once: boolean;
}

interface ListenerOptions {
  readonly capture?: boolean;
  readonly once?: boolean;
  readonly signal?: {
    readonly aborted: boolean;
    addEventListener(type: 'abort', listener: () => void): void;
  };
}

interface EventInit {
  readonly bubbles?: boolean;
  readonly cancelable?: boolean;
}

/** State of an event during its dispatch; users cannot change it. */
interface EventState {
  target: EventTarget | null;
  isImmediatePropagationStopped: boolean;
  isDefaultPrevented: boolean;
}

const states = new WeakMap<Event, EventState>();
const stateOf = (event: Event): EventState => states.get(event) as EventState;

export class Event {
  readonly type: string;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly timeStamp = performance.now();

  constructor(type: string, init: EventInit = {}) {
    this.type = String(type);
    this.bubbles = init.bubbles === true;
    this.cancelable = init.cancelable === true;
    states.set(this, { target: null, isImmediatePropagationStopped: false, isDefaultPrevented: false });
  }

  get target(): EventTarget | null {
    return stateOf(this).target;
  }

  get currentTarget(): EventTarget | null {
    return stateOf(this).target;
  }

  get defaultPrevented(): boolean {
    return stateOf(this).isDefaultPrevented;
  }

  preventDefault(): void {
    if (this.cancelable) stateOf(this).isDefaultPrevented = true;
  }

  stopImmediatePropagation(): void {
    stateOf(this).isImmediatePropagationStopped = true;
  }

  /** Has no effect, since events do not bubble here. */
  stopPropagation(): void {}
}

/**
 * Listeners of one object, in the order in which they were added. There is no tree of targets, so events do not bubble.
 */
export class EventTarget {
  #listeners: Listener[] = [];

  addEventListener(
    type: string,
    callback: Listener['callback'] | null,
    options: ListenerOptions | boolean = {},
  ): void {
    const {
      capture = false,
      once = false,
      signal,
    } = typeof options === 'boolean' ? { capture: options } : options;
    if (callback === null || signal?.aborted === true) return;
    const isRegistered = this.#listeners.some(
      (other) => other.type === type && other.callback === callback && other.capture === capture,
    );
    if (isRegistered) return;
    this.#listeners.push({ type: String(type), callback, capture, once });
    signal?.addEventListener('abort', () => this.removeEventListener(type, callback, capture));
  }

  removeEventListener(
    type: string,
    callback: Listener['callback'] | null,
    options: ListenerOptions | boolean = {},
  ): void {
    const capture = typeof options === 'boolean' ? options : options.capture === true;
    this.#listeners = this.#listeners.filter(
      (other) => other.type !== type || other.callback !== callback || other.capture !== capture,
    );
  }

  dispatchEvent(event: Event): boolean {
    const state = stateOf(event);
    state.target = this;
    // A listener may add listeners, which are not called for this event, and remove others, which are not called any
    // more.
    for (const listener of [...this.#listeners]) {
      if (listener.type !== event.type || !this.#listeners.includes(listener)) continue;
      if (listener.once) this.removeEventListener(listener.type, listener.callback, listener.capture);
      if (typeof listener.callback === 'function') listener.callback.call(this, event);
      else listener.callback.handleEvent(event);
      if (state.isImmediatePropagationStopped) break;
    }
    return !state.isDefaultPrevented;
  }
}

export class CustomEvent extends Event {
  readonly detail: unknown;

  constructor(type: string, init: EventInit & { readonly detail?: unknown } = {}) {
    super(type, init);
    this.detail = init.detail ?? null;
  }
}
