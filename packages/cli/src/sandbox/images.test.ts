import { describe, expect, it } from 'vitest';
import { parseChecksums } from './images.ts';

const DIGEST = 'ab'.repeat(32);

describe('trusted checksums', () => {
  it('are parsed by tool, in upper or lower case', () => {
    expect(parseChecksums([`a@1-r1=${DIGEST}`, `b@2-r1=${DIGEST.toUpperCase()}`])).toEqual({
      'a@1-r1': DIGEST,
      'b@2-r1': DIGEST,
    });
  });

  it.each(['a@1-r1', `=${DIGEST}`, 'a@1-r1=', `a@1-r1=${DIGEST}00`, `a@1-r1=${DIGEST.replace('a', 'x')}`])(
    'are refused without the id of a tool or without 64 hexadecimal digits: %s',
    (pair) => {
      expect(() => parseChecksums([pair])).toThrow('--checksum needs the id');
    },
  );
});
