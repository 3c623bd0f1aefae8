import { getOwn } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { diagnostic } from '../plan/diagnostics.ts';
import type { DiagnosticSink } from '../plan/diagnostics.ts';
import { SimilarNames } from '../refs/similar-names.ts';

/** The known keys of an object, to find misspelled ones. */
export class KnownKeys {
  readonly #knownKeys: readonly string[];
  readonly #allKeys: ReadonlySet<string>;

  /** `ignoredKeys`: keys that only other programs read. */
  constructor(knownKeys: readonly string[], ignoredKeys: readonly string[] = []) {
    this.#knownKeys = knownKeys;
    this.#allKeys = new Set([...knownKeys, ...ignoredKeys]);
  }

  /** Reports each unknown key of the block's object at `path` that is similar to a known one. */
  check(
    object: JsonObject,
    { path, blockId }: { path: string[]; blockId: string },
    sink: DiagnosticSink,
  ): void {
    const unknownEntries = Object.entries(object).filter(
      ([key, value]) => !this.#allKeys.has(key) && !isBlank(value),
    );
    // An instance of SimilarNames does a limited amount of work, so each object gets its own instance.
    const similarNames = new SimilarNames(unknownEntries.length === 0 ? [] : this.#knownKeys);
    for (const [key] of unknownEntries) {
      const suggestion = similarNames.findNearest(key);
      // If the similar key is present too, this one is not a misspelling.
      if (!suggestion || !isBlank(getOwn(object, suggestion.name))) continue;
      sink.push(
        diagnostic('FIELD_UNKNOWN', {
          blockId,
          path: [...path, key],
          message: `The key "${key}" has no meaning here.`,
          hint: `Did you mean "${suggestion.name}"?`,
        }),
      );
    }
  }
}

/** Returns true for the value of an empty field. */
export function isBlank(value: Json | undefined): value is undefined | null | '' {
  return value == null || value === '';
}
