import { createHash } from 'node:crypto';
import type { ImageSpec, Lock } from './builder.ts';
import { dependencyName } from './grammar.ts';

/** Returns JSON with sorted keys, so that equal values have the same JSON. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, nestedValue: unknown) =>
    typeof nestedValue === 'object' && nestedValue !== null && !Array.isArray(nestedValue)
      ? Object.fromEntries(Object.entries(nestedValue).sort(([a], [b]) => (a < b ? -1 : 1)))
      : nestedValue,
  );
}

/** Returns the SHA-256 in hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Returns the hash of a specification. It does not depend on order, duplicates, comments and spelling variants. */
export function specHash(spec: ImageSpec): string {
  return sha256(canonicalJson({ v: 1, ...spec }));
}

/** Returns the hash of a lock: its names, versions and digests. */
export function lockHash(lock: Lock): string {
  const entries = lock.entries.map(({ name, version, digest }) => [name, version, digest].join(' '));
  return sha256(canonicalJson({ v: 1, entries: entries.sort() }));
}

/** Returns the key of a runtime. `parts` are all values besides the lock that affect the files of an image. */
export function runtimeKey(parts: Readonly<Record<string, string>>): string {
  return sha256(canonicalJson({ v: 1, ...parts }));
}

/**
 * Returns the key of an image from the hash of its lock, the key of its runtime, and the names that code can import,
 * which can differ between specifications with the same lock.
 */
export function imageKey(lockDigest: string, runtimeDigest: string, spec: ImageSpec): string {
  const { language, cliTools, systemPackages } = spec;
  const names = spec.dependencies.map((entry) => dependencyName(entry, language)).sort();
  return sha256(
    canonicalJson({
      v: 1,
      lock: lockDigest,
      runtime: runtimeDigest,
      language,
      names,
      cliTools,
      systemPackages,
    }),
  );
}
