import { describe, expect, it } from 'vitest';
import { readChildMessage } from './child-messages.ts';

const doneMessage = {
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
    expect(readChildMessage(doneMessage)).toEqual(doneMessage);
    expect(readChildMessage({ t: 'ready', snapshot: null })).toEqual({ t: 'ready', snapshot: null });
  });

  it.each([
    ['a string instead of an object', 'done'],
    ['null', null],
    ['an unknown kind', { t: '__proto__' }],
    ['an unknown code', { ...doneMessage, code: 'FINE' }],
    ['an object instead of a string', { ...doneMessage, text: { toString: 1 } }],
    ['NaN as a number', { ...doneMessage, cpuMs: Number.NaN }],
    [
      'an inherited field',
      Object.assign(Object.create({ text: '1' }) as object, { ...doneMessage, text: undefined }),
    ],
    ['an array instead of bytes', { t: 'call', id: 1, call: 1, op: 'fetch', head: '{}', body: [1] }],
  ])('are refused with %s', (_description, message) => {
    expect(readChildMessage(message)).toBeUndefined();
  });
});
