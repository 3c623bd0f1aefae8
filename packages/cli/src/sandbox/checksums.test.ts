import { describe, expect, it } from 'vitest';
import { readChecksums } from './checksums.ts';

const DIGEST = 'ab'.repeat(32);

describe('checksums that an operator vouches for', () => {
  it('are read by tool, in either case of digits', () => {
    expect(readChecksums([`a@1-r1=${DIGEST}`, `b@2-r1=${DIGEST.toUpperCase()}`])).toEqual({
      'a@1-r1': DIGEST,
      'b@2-r1': DIGEST,
    });
  });

  it.each(['a@1-r1', `=${DIGEST}`, 'a@1-r1=', `a@1-r1=${DIGEST}00`, `a@1-r1=${DIGEST.replace('a', 'x')}`])(
    'are refused as %s',
    (pair) => {
      expect(() => readChecksums([pair])).toThrow('--checksum takes the id');
    },
  );
});
