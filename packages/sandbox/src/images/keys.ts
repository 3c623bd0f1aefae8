import { createHash } from 'node:crypto';
import type { ImageSpec, Lock } from './builder.ts';
import { dependencyName } from './grammar.ts';

/** JSON with the keys of objects in order, so that equal values have equal texts. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** SHA-256 in hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** What was asked for: equal for specs that differ in order, doubles, comments and spelling only. */
export function specHash(spec: ImageSpec): string {
  return sha256(canonicalJson({ v: 1, ...spec }));
}

/** What was chosen: names, versions and digests. */
export function lockHash(lock: Lock): string {
  const entries = lock.entries.map(({ name, version, digest }) => [name, version, digest].join(' '));
  return sha256(canonicalJson({ v: 1, entries: entries.sort() }));
}

/** What the files of an image depend on besides its lock. */
export function runtimeKey(parts: Readonly<Record<string, string>>): string {
  return sha256(canonicalJson({ v: 1, ...parts }));
}

/** The image: its lock, its runtime, and what can be imported by name, which two specs with one lock may disagree on. */
export function imageKey(lock: string, runtime: string, spec: ImageSpec): string {
  const { language, cliTools, systemPackages } = spec;
  const names = spec.dependencies.map((entry) => dependencyName(entry, language)).sort();
  return sha256(canonicalJson({ v: 1, lock, runtime, language, names, cliTools, systemPackages }));
}
