import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sample } from '../support/scale.ts';
import { formatOutcome } from './attack.ts';
import { openHostileImages, type HostileImages } from './hostile-images.ts';
import { levels, type Level } from './levels.ts';
import { useHarness } from './suite.ts';

const TIMEOUT_MS = 180_000;
const highestLevel = levels.at(-1) as Level;

describe('a build of hostile packages', () => {
  const harnessRef = useHarness(highestLevel);
  let hostileImages: HostileImages;
  beforeAll(async () => {
    hostileImages = await openHostileImages();
  }, TIMEOUT_MS);
  afterAll(() => hostileImages.close());

  const HOSTILE_PACKAGES: readonly (readonly [title: string, dependencies: string[], message: RegExp])[] = [
    [
      'hide that other packages cannot be loaded',
      ['hides-failures', 'throws'],
      /throws cannot be loaded: a failure at load time/,
    ],
    ['make the global object non-extensible', ['seals'], /cannot be loaded: .*not extensible/],
    [
      'define globals of the guest runtime',
      ['redefines-globals'],
      /redefines-globals cannot be loaded: .*__heddleImage/,
    ],
    ['forge reports to the builder', ['reports'], /reports cannot be loaded: .*report/],
    ['leave a rejected promise', ['rejects'], /nobody handles it/],
    ['queue microtasks endlessly', ['loops'], /take more than 2000 ms|more than 64 MiB/],
    ['allocate memory outside the heap', ['allocates'], /allocation failed|more than 64 MiB/],
  ];

  it.each(sample(HOSTILE_PACKAGES, 4, 'builds of hostile packages'))(
    'fails if they %s',
    { timeout: TIMEOUT_MS },
    async (_title, dependencies, message) => {
      const { harness } = harnessRef;
      await harness.reset();
      const { errorCode, errorMessage } = await hostileImages.build(dependencies);
      expect({ errorCode, errorMessage }).toEqual({
        errorCode: 'load_failed',
        errorMessage: expect.stringMatching(message) as string,
      });
      expect(await harness.findViolations(errorMessage)).toEqual([]);
      expect(formatOutcome(await harness.sandbox.run({ runId: 'next', code: 'return 1' })).text).toBe('1');
    },
  );
});
