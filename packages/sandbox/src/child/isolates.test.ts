import ivm from 'isolated-vm';
import { describe, expect, it } from 'vitest';
import { Isolates } from './isolates.ts';
import type { RealmUser } from './realms.ts';

/** A guest that does nothing. */
const GUEST = `Object.defineProperty(globalThis, '__heddle', { get: () => (post) => () => undefined })`;
const MEMORY_MIB = 32;

const user: RealmUser = { onIsolateDestroyed: () => undefined };

function createIsolates(): Isolates {
  const snapshot = ivm.Isolate.createSnapshot([{ code: GUEST }]);
  return new Isolates({ vm: ivm, snapshot, chunks: new Map() }, MEMORY_MIB);
}

describe('a JavaScript context', () => {
  it('is prebuilt if there was time between jobs, and made on demand if not', () => {
    const isolates = createIsolates();
    const first = isolates.lease(user, 'run', MEMORY_MIB);
    isolates.prepare();
    const second = isolates.lease(user, 'run', MEMORY_MIB);
    const third = isolates.lease(user, 'run', MEMORY_MIB);
    expect([first, second, third].map(({ isPrebuilt }) => isPrebuilt)).toEqual([false, true, false]);
  });

  it('of a new run comes from the spare isolate if that has the requested memory', () => {
    const isolates = createIsolates();
    isolates.prepare();
    const otherRealm = isolates.lease(user, 'other', 2 * MEMORY_MIB);
    const matchingRealm = isolates.lease(user, 'matching', MEMORY_MIB);
    expect([otherRealm, matchingRealm].map(({ isPrebuilt }) => isPrebuilt)).toEqual([false, true]);
  });
});
