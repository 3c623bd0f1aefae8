import ivm from 'isolated-vm';
import { describe, expect, it } from 'vitest';
import { Isolates } from './isolates.ts';

/** A guest that does nothing. */
const GUEST = `Object.defineProperty(globalThis, '__heddle', { get: () => (post) => () => undefined })`;
const MEMORY = 32;

const user = { lost: () => undefined };

function isolatesOf(): Isolates {
  const snapshot = ivm.Isolate.createSnapshot([{ code: GUEST }]);
  return new Isolates({ vm: ivm, snapshot, bundle: null, parts: new Map() }, MEMORY);
}

describe('a context of JavaScript', () => {
  it('is there before its job where there was time to make it, and is not where there was none', () => {
    const isolates = isolatesOf();
    const first = isolates.lease(user, 'run', MEMORY);
    isolates.prepare();
    const second = isolates.lease(user, 'run', MEMORY);
    const third = isolates.lease(user, 'run', MEMORY);
    expect([first, second, third].map(({ isAhead }) => isAhead)).toEqual([false, true, false]);
  });

  it('of a run that is new is the one of the spare isolate, if that has the memory it asks for', () => {
    const isolates = isolatesOf();
    isolates.prepare();
    const other = isolates.lease(user, 'other', 2 * MEMORY);
    const fitting = isolates.lease(user, 'fitting', MEMORY);
    expect([other, fitting].map(({ isAhead }) => isAhead)).toEqual([false, true]);
  });
});
