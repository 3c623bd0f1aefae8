import { INLINE_LIMIT_BYTES } from '@heddle/core/run';
import type { StoredValue } from '@heddle/core/run';
import type { Json } from '@heddle/core';
import type { RedactionStream } from '../secrets/redaction-stream.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { wrapStoreErrors, unwrapInfrastructureError } from './infrastructure-error.ts';
import { jsonCopy } from '../json-copy.ts';
import type { Values } from './values.ts';

/**
 * Converts values from blocks and callers to their form in a run's record: JSON without secrets, inline or in the value
 * store.
 */
export class Sanitizer {
  readonly #values: Values;
  readonly #redactor: Redactor;

  constructor(values: Values, redactor: Redactor) {
    this.#values = values;
    this.#redactor = redactor;
  }

  /**
   * Returns the stored form of the value. `label` names the value in errors.
   *
   * Throws BLOCK_FAILED if the value is not JSON, and an InfrastructureError if it cannot be stored.
   */
  store(value: unknown, label: string): StoredValue | Promise<StoredValue> {
    const { json, maxBytes } = jsonCopy(value, label);
    const redactedJson = this.#redactor.redactJson(json);
    if (redactedJson === json && maxBytes <= INLINE_LIMIT_BYTES) return { v: json };
    return wrapStoreErrors(() => this.#values.store(redactedJson));
  }

  /** Stores a value from a caller like `store`, but throws the store's own error instead of an InfrastructureError. */
  storeCallerValue(value: unknown, label: string): StoredValue | Promise<StoredValue> {
    try {
      const storedValue = this.store(value, label);
      return storedValue instanceof Promise ? storedValue.catch(rethrowCause) : storedValue;
    } catch (error) {
      return rethrowCause(error);
    }
  }

  /** Stores each value like `storeCallerValue`. Returns the stored forms by the same keys. */
  async storeCallerValues<K extends string>(
    values: { [key in K]: unknown },
    label: string,
  ): Promise<{ [key in K]: StoredValue }> {
    const storedEntries: [string, StoredValue][] = [];
    for (const [key, value] of Object.entries(values))
      storedEntries.push([key, await this.storeCallerValue(value, label)]);
    return Object.fromEntries(storedEntries) as { [key in K]: StoredValue };
  }

  /** Returns the value as JSON without secrets, regardless of its size. Throws BLOCK_FAILED like `store`. */
  redactJson(value: unknown, label: string): Json {
    return this.#redactor.redactJson(jsonCopy(value, label).json);
  }

  /** Returns the text without secrets. */
  redactText(text: string): string {
    return this.#redactor.redactText(text);
  }

  /** Returns a stream that removes secrets from a text that arrives in parts. */
  createStream(): RedactionStream {
    return this.#redactor.createStream();
  }
}

function rethrowCause(error: unknown): never {
  throw unwrapInfrastructureError(error);
}
