type Callback = (...values: unknown[]) => unknown;

/** AsyncLocalStorage without asynchronous context: a store lasts as long as its function runs. */
class AsyncLocalStorage {
  #store: unknown;

  run(store: unknown, action: Callback, ...values: unknown[]): unknown {
    const previousStore = this.#store;
    this.#store = store;
    try {
      return action(...values);
    } finally {
      this.#store = previousStore;
    }
  }

  exit(action: Callback, ...values: unknown[]): unknown {
    return this.run(undefined, action, ...values);
  }

  getStore(): unknown {
    return this.#store;
  }

  enterWith(store: unknown): void {
    this.#store = store;
  }

  disable(): void {
    this.#store = undefined;
  }
}

class AsyncResource {
  runInAsyncScope(action: Callback, thisArg: unknown, ...values: unknown[]): unknown {
    return Reflect.apply(action, thisArg, values);
  }

  bind(action: Callback): Callback {
    return action;
  }

  static bind(action: Callback): Callback {
    return action;
  }
}

/** A channel without subscribers. */
const channel = () => ({
  hasSubscribers: false,
  publish: () => undefined,
  subscribe: () => undefined,
  unsubscribe: () => false,
  bindStore: () => undefined,
  runStores: (_data: unknown, action: Callback, thisArg: unknown, ...values: unknown[]) =>
    Reflect.apply(action, thisArg, values),
});

const tracingChannel = () => ({
  hasSubscribers: false,
  start: channel(),
  end: channel(),
  asyncStart: channel(),
  asyncEnd: channel(),
  error: channel(),
  traceSync: (action: Callback, _data: unknown, thisArg: unknown, ...values: unknown[]) =>
    Reflect.apply(action, thisArg, values),
  tracePromise: (action: Callback, _data: unknown, thisArg: unknown, ...values: unknown[]) =>
    Reflect.apply(action, thisArg, values),
});

/** Minimal versions of builtins that libraries import but hardly use. */
export const stubBuiltins: Readonly<Record<string, object>> = {
  async_hooks: {
    AsyncLocalStorage,
    AsyncResource,
    createHook: () => ({ enable() {}, disable() {} }),
    executionAsyncId: () => 0,
  },
  diagnostics_channel: { channel, tracingChannel, hasSubscribers: () => false, subscribe: () => undefined },
  os: {
    EOL: '\n',
    arch: () => 'wasm',
    platform: () => 'browser',
    type: () => 'Heddle',
    release: () => '',
    hostname: () => 'localhost',
    homedir: () => '/',
    tmpdir: () => '/tmp',
    cpus: () => [],
    totalmem: () => 0,
    freemem: () => 0,
    endianness: () => 'LE',
  },
  perf_hooks: {
    get performance() {
      return performance;
    },
  },
  timers: {
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    setImmediate,
    clearImmediate,
  },
  'timers/promises': {
    setTimeout: (ms: number, value?: unknown) =>
      new Promise((resolve) => setTimeout(() => resolve(value), ms)),
    setImmediate: (value?: unknown) => new Promise((resolve) => setTimeout(() => resolve(value), 0)),
  },
  url: {
    get URL() {
      return URL;
    },
    get URLSearchParams() {
      return URLSearchParams;
    },
    format: (url: unknown) => String(url),
    domainToASCII: (host: string) =>
      URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '',
  },
  tty: { isatty: () => false },
};
