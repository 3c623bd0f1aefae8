import { describe, expect, it } from 'vitest';
import { formatOutcome } from './attack.ts';
import { packageAttacks } from './javascript/packages.ts';
import { levels, type Level } from './levels.ts';
import { testStoredFiles, testTenantIsolation, useHostileImages } from './stored-images.ts';
import { testAttacks, useHarness } from './suite.ts';

const hostileImages = useHostileImages('combined', 'replaces', 'pollutes', 'freezes', 'has-pending-work');

testAttacks(packageAttacks, { share: 1 / 3, sandbox: { images: hostileImages.images } });

describe('an image whose name looks like a path, a query or a property', () => {
  const harnessRef = useHarness(levels.at(-1) as Level, { sandbox: { images: hostileImages.images } });

  it.each([
    '../../etc/passwd',
    '/etc/passwd',
    'file:///etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    'combined/../combined',
    'combined\0',
    "' OR 1=1 --",
    '__proto__',
    '%',
    '',
    'a'.repeat(100_000),
    '0'.repeat(64),
  ])('is not found: %j', async (image) => {
    const { harness } = harnessRef;
    await harness.reset();
    const outcome = await harness.sandbox.run({ runId: 'run', code: 'return 1', image });
    expect(formatOutcome(outcome).jsonOrCode).toBe('IMAGE_NOT_FOUND');
    expect(await harness.findViolations(outcome)).toEqual([]);
  });
});

testTenantIsolation(hostileImages, 'javascript', 'combined', [
  'const r = require("remembers"); r.keep("secret"); return 1',
  'return require("remembers").recall()',
]);

testStoredFiles(hostileImages, 'javascript', [
  ['snapshot.bin', 'combined'],
  ['bundle.js', 'combined'],
  ['bundle.js', 'has-pending-work'],
  ['code-cache.bin', 'has-pending-work'],
]);
