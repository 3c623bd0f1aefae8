import { describe, expect, it } from 'vitest';
import { readChildMessage } from './child-messages.ts';

const done = {
  t: 'done',
  id: 1,
  code: 'OK',
  text: '1',
  stdout: '',
  cpuMs: 1,
  wallMs: 1,
  waitedForContext: false,
  next: 0,
  rssMiB: 60,
};

describe('messages of a sandbox process', () => {
  it('are accepted if they are well-formed', () => {
    expect(readChildMessage(done)).toEqual(done);
    expect(readChildMessage({ t: 'ready', snapshot: null })).toEqual({ t: 'ready', snapshot: null });
  });

  it.each([
    ['a string instead of an object', 'done'],
    ['null', null],
    ['an unknown kind', { t: '__proto__' }],
    ['an unknown code', { ...done, code: 'FINE' }],
    ['an object instead of a string', { ...done, text: { toString: 1 } }],
    ['NaN as a number', { ...done, cpuMs: Number.NaN }],
    [
      'an inherited field',
      Object.assign(Object.create({ text: '1' }) as object, { ...done, text: undefined }),
    ],
    ['an array instead of bytes', { t: 'call', id: 1, call: 1, op: 'fetch', head: '{}', body: [1] }],
  ])('are refused with %s', (_what, message) => {
    expect(readChildMessage(message)).toBeUndefined();
  });
});
