import { afterAll, describe, expect, it } from 'vitest';
import { openNativeImages } from '../../../../test/support/native-images.ts';

/** Images from this machine's mirrors, with a low size limit. */
const images = await openNativeImages({ maxImageMiB: 20 });

afterAll(() => images?.close());

describe.skipIf(images === undefined)('a native image from the real mirrors', { timeout: 300_000 }, () => {
  const build = (systemPackages: readonly string[]) =>
    images!.build({ language: 'javascript', systemPackages }, { refresh: true });

  it('that exceeds the maximum size fails with its size in the message', async () => {
    const failed = await build(['jq', 'sed']);
    expect(failed).toMatchObject({
      state: 'failed',
      errorCode: 'image_too_large',
      errorMessage: expect.stringMatching(/^The image is \d+ MiB; the maximum is 20 MiB\.$/) as string,
    });
    expect(Number(/is (\d+)/.exec(failed.errorMessage!)![1])).toBeGreaterThan(20);
  });
});
