import type { Json, ValueStore } from '@heddle/core';
import { EngineError } from '@heddle/core';
import { INLINE_LIMIT_BYTES, keysIn, materialize } from '@heddle/core/run';
import type { StoredValue } from '@heddle/core/run';

/** Values fetched from the value store, by key. */
export type LoadedValues = Map<string, Json>;

/** Writes values inline or to the value store, depending on their size, and reads them back. */
export class Values {
  readonly #valueStore: ValueStore;

  constructor(valueStore: ValueStore) {
    this.#valueStore = valueStore;
  }

  /** Returns the stored form of the value: inline if it is small, else a reference to the value store. */
  store(value: Json): StoredValue | Promise<StoredValue> {
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= INLINE_LIMIT_BYTES) return { v: value };
    return this.#put(text, bytes);
  }

  /** Writes the value to the value store, regardless of its size. */
  storeByReference(value: Json): StoredValue | Promise<StoredValue> {
    const text = JSON.stringify(value);
    return this.#put(text, Buffer.byteLength(text));
  }

  #put(text: string, bytes: number): StoredValue | Promise<StoredValue> {
    const key = this.#valueStore.put(text);
    if (typeof key === 'string') return { ref: { key, bytes } };
    return key.then((storedKey) => ({ ref: { key: storedKey, bytes } }));
  }

  /** Fetches the values that `storedValues` refer to into `loadedValues`. Throws VALUE_MISSING. */
  async fetch(storedValues: readonly StoredValue[], loadedValues: LoadedValues): Promise<void> {
    for (const key of storedValues.flatMap(keysIn)) {
      if (loadedValues.has(key)) continue;
      const text = await this.#valueStore.get(key);
      if (text === undefined) throw valueMissing(key);
      loadedValues.set(key, JSON.parse(text) as Json);
    }
  }

  /** Returns the value, fetched if it is not inline. Throws VALUE_MISSING. */
  load(storedValue: StoredValue): Json | Promise<Json> {
    if ('v' in storedValue) return storedValue.v;
    const loadedValues: LoadedValues = new Map();
    return this.fetch([storedValue], loadedValues).then(() => readLoaded(storedValue, loadedValues));
  }
}

/** Returns the value of `storedValue`, whose references must be in `loadedValues`. Throws VALUE_MISSING. */
export function readLoaded(storedValue: StoredValue, loadedValues: LoadedValues): Json {
  return materialize(storedValue, (key) => {
    const value = loadedValues.get(key);
    if (value === undefined) throw valueMissing(key);
    return value;
  });
}

function valueMissing(key: string): EngineError {
  return new EngineError(
    'VALUE_MISSING',
    `The value ${key} is not in the value store. Restore the store from a backup that contains the value, or run the workflow again.`,
  );
}
