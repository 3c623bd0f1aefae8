import { describe, expect, it } from 'vitest';
import { compareVersions, satisfiesVersionCondition } from './version.ts';

describe('versions of Debian packages', () => {
  it.each([
    ['1.0', '1.0', 0],
    ['1.0', '1.1', -1],
    ['1.10', '1.9', 1],
    ['1.0-1', '1.0-2', -1],
    ['1.0-1', '1.0', 1],
    ['1.0-0', '1.0', 0],
    ['1:0.9', '2.0', 1],
    ['0:1.0', '1.0', 0],
    ['1.0~rc1', '1.0', -1],
    ['1.0~~', '1.0~', -1],
    ['1.0~~a', '1.0~', -1],
    ['1.0a', '1.0', 1],
    ['1.0a', '1.0+', -1],
    ['1.0.1', '1.0a', 1],
    ['1.02', '1.2', 0],
    ['1.6-2.1+deb12u1', '1.6-2.1', 1],
    ['2:6.2.1+dfsg1-1.1', '2:6.2.1-1', 1],
    ['2.36-9+deb12u10', '2.36-9+deb12u9', 1],
    ['1-2-3', '1-2-4', -1],
    ['5.36.0-7+b1', '5.36.0-7', 1],
    ['99999999999999999999', '99999999999999999998', 1],
  ])('%s compared with %s: %i', (a, b, order) => {
    expect([Math.sign(compareVersions(a, b)), Math.sign(compareVersions(b, a))]).toEqual([order, -order + 0]);
  });

  it.each([
    ['<<', [true, false, false]],
    ['<=', [true, true, false]],
    ['=', [false, true, false]],
    ['>=', [false, true, true]],
    ['>>', [false, false, true]],
  ] as const)('%s compares older, equal and newer versions', (operator, expected) => {
    expect(['1', '2', '3'].map((version) => satisfiesVersionCondition(version, operator, '2'))).toEqual(
      expected,
    );
  });
});
