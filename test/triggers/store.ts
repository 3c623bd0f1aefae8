import { openServiceStore } from '@heddle/service';
import type { ServiceStore } from '@heddle/service';
import { postgresDatabase } from '../support/postgres.ts';

/** Opens a new store of the service: in memory, or on the PostgreSQL server of the tests. */
export async function openStore(kind: 'sqlite' | 'postgres'): Promise<ServiceStore> {
  if (kind === 'sqlite') return openServiceStore({});
  return openServiceStore({ postgres: { url: await postgresDatabase() }, secret: 'x'.repeat(32) });
}

/**
 * Returns an `every` whose work runs only when the test calls `tick`, and only if `isIncluded` returns true for its
 * interval.
 */
export function manualInterval(isIncluded: (ms: number) => boolean = () => true): {
  every: (ms: number, callback: () => void) => () => void;
  tick: () => void;
} {
  const callbacks = new Set<() => void>();
  return {
    every(ms, callback) {
      if (isIncluded(ms)) callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    tick() {
      for (const each of callbacks) each();
    },
  };
}
