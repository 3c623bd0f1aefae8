import { openServiceStore } from '@heddle/service';
import type { ServiceStore } from '@heddle/service';
import { createPostgresDatabase } from '../support/postgres.ts';

/** Opens a new store of the service: in memory, or on the PostgreSQL server of the tests. */
export async function openStore(kind: 'sqlite' | 'postgres'): Promise<ServiceStore> {
  if (kind === 'sqlite') return openServiceStore({});
  return openServiceStore({ postgres: { url: await createPostgresDatabase() }, secret: 'x'.repeat(32) });
}

/**
 * Returns a `repeat` whose work runs only when the test calls `tick`, and only if `isIncluded` returns true for its
 * interval.
 */
export function manualInterval(isIncluded: (ms: number) => boolean = () => true): {
  repeat: (ms: number, callback: () => void) => () => void;
  tick: () => void;
} {
  const callbacks = new Set<() => void>();
  return {
    repeat(ms, callback) {
      if (isIncluded(ms)) callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    tick() {
      for (const callback of callbacks) callback();
    },
  };
}
