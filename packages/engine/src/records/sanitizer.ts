import { INLINE_LIMIT_BYTES } from '@heddle/core/run';
import type { Stored } from '@heddle/core/run';
import type { Json } from '@heddle/core';
import type { Redactor } from '../secrets/redactor.ts';
import { causeOf, storing } from './infrastructure-error.ts';
import { jsonCopy } from '../json-copy.ts';
import type { Values } from './values.ts';

/** Makes what a run's record may hold of what blocks and callers give: JSON, without secrets, in its place. */
export class Keeper {
  private readonly values: Values;
  private readonly redactor: Redactor;

  constructor(values: Values, redactor: Redactor) {
    this.values = values;
    this.redactor = redactor;
  }

  /** The value as the journal holds it. Throws BLOCK_FAILED for what is not JSON, naming it as `what`; a Fault of the stores. */
  keep(value: unknown, what: string): Stored | Promise<Stored> {
    const { json, mostBytes } = jsonCopy(value, what);
    const open = this.redactor.json(json);
    if (open === json && mostBytes <= INLINE_LIMIT_BYTES) return { v: json };
    return storing(() => this.values.keep(open));
  }

  /** `keep` for callers: what the stores say is thrown as it is. */
  keepForCaller(value: unknown, what: string): Stored | Promise<Stored> {
    try {
      const kept = this.keep(value, what);
      return kept instanceof Promise ? kept.catch(rethrowCause) : kept;
    } catch (error) {
      return rethrowCause(error);
    }
  }

  /** `keepForCaller` of several values. */
  async keepAll<K extends string>(
    values: { [key in K]: unknown },
    what: string,
  ): Promise<{ [key in K]: Stored }> {
    const kept: [string, Stored][] = [];
    for (const [key, value] of Object.entries(values))
      kept.push([key, await this.keepForCaller(value, what)]);
    return Object.fromEntries(kept) as { [key in K]: Stored };
  }

  /** The value, where it stands inline whatever its size. Throws BLOCK_FAILED like `keep`. */
  json(value: unknown, what: string): Json {
    return this.redactor.json(jsonCopy(value, what).json);
  }

  text(text: string): string {
    return this.redactor.text(text);
  }
}

function rethrowCause(error: unknown): never {
  throw causeOf(error);
}
