import { own } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { diagnostic } from '../plan/diagnostics.ts';
import type { DiagnosticSink } from '../plan/diagnostics.ts';
import { NearNames } from '../refs/nearest.ts';

/** The keys that an object may have, for finding those that are one of them misspelt. */
export class KnownKeys {
  readonly #known: readonly string[];
  readonly #all: ReadonlySet<string>;

  /** `ignored`: keys that others than the engine read. */
  constructor(known: readonly string[], ignored: readonly string[] = []) {
    this.#known = known;
    this.#all = new Set([...known, ...ignored]);
  }

  /** Reports each key of the block's object at `path` that is none of the known ones but near to one. */
  check(
    object: JsonObject,
    { path, blockId }: { path: string[]; blockId: string },
    found: DiagnosticSink,
  ): void {
    const unknown = Object.entries(object).filter(([key, value]) => !this.#all.has(key) && !isBlank(value));
    // Its work is bounded over all that it is asked, so each object has one of its own.
    const names = new NearNames(unknown.length === 0 ? [] : this.#known);
    for (const [key] of unknown) {
      const near = names.nearest(key);
      // Where the key that it is near to is there too, it is another one.
      if (!near || !isBlank(own(object, near.name))) continue;
      found.push(
        diagnostic('FIELD_UNKNOWN', {
          blockId,
          path: [...path, key],
          message: `The key "${key}" means nothing here.`,
          hint: `Did you mean "${near.name}"?`,
        }),
      );
    }
  }
}

/** True for what an editor leaves in a field that nobody has filled in. */
export function isBlank(value: Json | undefined): value is undefined | null | '' {
  return value == null || value === '';
}
