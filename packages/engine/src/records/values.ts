import type { Json, ValueStore } from '@heddle/core';
import { EngineError } from '@heddle/core';
import { INLINE_LIMIT_BYTES, keysIn, materialize } from '@heddle/core/run';
import type { Stored } from '@heddle/core/run';

/** Values that were fetched, by key. */
export type Loaded = Map<string, Json>;

/** Puts values where they belong, inline or in the value store, and gets them back. */
export class Values {
  private readonly store: ValueStore;

  constructor(store: ValueStore) {
    this.store = store;
  }

  /** The value as the journal holds it. */
  keep(value: Json): Stored | Promise<Stored> {
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= INLINE_LIMIT_BYTES) return { v: value };
    return this.put(text, bytes);
  }

  /** The value in the value store, however small it is. */
  keepApart(value: Json): Stored | Promise<Stored> {
    const text = JSON.stringify(value);
    return this.put(text, Buffer.byteLength(text));
  }

  private put(text: string, bytes: number): Stored | Promise<Stored> {
    const key = this.store.put(text);
    if (typeof key === 'string') return { ref: { key, bytes } };
    return key.then((stored) => ({ ref: { key: stored, bytes } }));
  }

  /** Fetches what `stored` refers to into `loaded`. Throws VALUE_MISSING. */
  async fetch(stored: readonly Stored[], loaded: Loaded): Promise<void> {
    for (const key of stored.flatMap(keysIn)) {
      if (loaded.has(key)) continue;
      const text = await this.store.get(key);
      if (text === undefined) throw missing(key);
      loaded.set(key, JSON.parse(text) as Json);
    }
  }

  /** The value, fetched where need be. Throws VALUE_MISSING. */
  load(stored: Stored): Json | Promise<Json> {
    if ('v' in stored) return stored.v;
    const loaded: Loaded = new Map();
    return this.fetch([stored], loaded).then(() => read(stored, loaded));
  }
}

/** The value of `stored`; what it refers to must have been fetched. */
export function read(stored: Stored, loaded: Loaded): Json {
  return materialize(stored, (key) => {
    const value = loaded.get(key);
    if (value === undefined) throw missing(key);
    return value;
  });
}

function missing(key: string): EngineError {
  return new EngineError(
    'VALUE_MISSING',
    `The value ${key} is not in the value store. Was the data folder copied without its values?`,
  );
}
