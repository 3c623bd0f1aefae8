/** A connection that the blocks of a run share. */
export interface SharedConnection {
  /** Ends the connection. Never rejects. */
  close(): Promise<void>;
}

/** The connections of all runs of this process. */
export class Connections {
  readonly #closing = new Set<Promise<void>>();

  /** Returns an empty set of connections for a run. */
  createForRun(): RunConnections {
    return new RunConnections((closing) => {
      this.#closing.add(closing);
      void closing.finally(() => this.#closing.delete(closing));
    });
  }

  /** Resolves when the connections that are being closed now are closed. */
  async waitUntilClosed(): Promise<void> {
    await Promise.all(this.#closing);
  }
}

/** The connections of one run in this process, by key. */
export class RunConnections {
  readonly #connections = new Map<string, Promise<SharedConnection>>();
  readonly #onClosing: (closing: Promise<void>) => void;

  constructor(onClosing: (closing: Promise<void>) => void) {
    this.#onClosing = onClosing;
  }

  /**
   * Returns the connection with this key; `open` opens it if there is none. If another block fails to open it, this
   * call tries again, because the other block may have been stopped.
   */
  async get<T extends SharedConnection>(
    key: string,
    signal: AbortSignal,
    open: () => Promise<T>,
  ): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      const opening = this.#connections.get(key);
      if (!opening) return this.#start(key, open);
      const connection = await opening.catch(() => undefined);
      if (connection) return connection as T;
    }
  }

  /** Closes all connections. Later calls to `get` open new connections. */
  close(): void {
    const connections = [...this.#connections.values()];
    this.#connections.clear();
    for (const opening of connections)
      this.#onClosing(
        opening.then(
          (connection) => connection.close(),
          () => undefined,
        ),
      );
  }

  #start<T extends SharedConnection>(key: string, open: () => Promise<T>): Promise<T> {
    const opening = open();
    this.#connections.set(key, opening);
    // A connection that could not be opened is not shared.
    return opening.catch((error: unknown) => {
      if (this.#connections.get(key) === opening) this.#connections.delete(key);
      throw error;
    });
  }
}
