import { afterAll, expect, it } from 'vitest';
import { setUpNativeImages } from '../../../../../test/support/native-images.ts';

const setup = await setUpNativeImages();
afterAll(() => setup.close());

const AGE = 'age@1.3.1-r1';

/** Builds an image of the tool. Returns its id, or prints why its sources are not available. */
async function buildAgeImage(): Promise<string | undefined> {
  if (setup.images === undefined || setup.javascript === undefined) return undefined;
  const { id, state, errorCode, errorMessage } = await setup.images.build({
    ...{ language: 'javascript', cliTools: [AGE] },
  });
  if (state === 'ready') return id;
  if (errorCode !== 'registry_unavailable') throw new Error(`${errorCode}: ${errorMessage}`);
  process.stderr.write(`No image of ${AGE}: ${errorMessage}\n`);
  return undefined;
}

const image = await buildAgeImage();

it.skipIf(image === undefined)('a compiled tool works in scripts of its image', async () => {
  const code = `
age-keygen -o key 2>/dev/null
recipient=$(age-keygen -y key)
age -r "$recipient" -o secret <<< 'for nobody else'
grep -q 'for nobody' secret && exit 3
echo "__HEDDLE_RESULT__=$(age -d -i key secret), by $(age --version) in $(readlink -f "$(command -v age)")"`;
  const job = { runId: 'age', language: 'shell', image, code } as const;
  expect(await setup.runForValue(job as Parameters<typeof setup.runForValue>[0])).toBe(
    `for nobody else, by v1.3.1 in /opt/heddle/tools/${AGE}/age`,
  );
});
