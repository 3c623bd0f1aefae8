import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createDataFolder } from '../../../test/support/data-folder.ts';
import { storeUnusedImage } from '../../../test/support/images.ts';
import { createBlockImages, imagesFolder } from './block-images.ts';

/** An interval whose callback runs only when the test calls `tick`. */
function createManualInterval() {
  let current: (() => void) | undefined;
  return {
    repeat: (_ms: number, callback: () => void) => ((current = callback), () => void (current = undefined)),
    tick: () => current?.(),
  };
}

it('unused images are deleted immediately and at each interval, until the images are closed', async () => {
  const dataFolder = createDataFolder();
  const folder = imagesFolder(dataFolder);
  const errors: unknown[] = [];
  const { repeat, tick } = createManualInterval();
  const images = createBlockImages(dataFolder, undefined);
  const first = await storeUnusedImage(folder);
  images.collectGarbageRepeatedly((error) => errors.push(error), { repeat });
  await expect.poll(() => existsSync(first)).toBe(false);
  const second = await storeUnusedImage(folder);
  await expect.poll(() => (tick(), existsSync(second))).toBe(false);
  await images.close();
  const third = await storeUnusedImage(folder);
  tick();
  expect(existsSync(third)).toBe(true);
  expect(errors).toEqual([]);
});

it('a collection of unused images does not create their folder', async () => {
  const dataFolder = createDataFolder();
  const { repeat, tick } = createManualInterval();
  const errors: unknown[] = [];
  const images = createBlockImages(dataFolder, undefined);
  images.collectGarbageRepeatedly((error) => errors.push(error), { repeat });
  tick();
  await images.close();
  expect([existsSync(imagesFolder(dataFolder)), errors]).toEqual([false, []]);
});

it('a failed collection is reported once, even if the interval ends before it does, and the next one succeeds', async () => {
  const dataFolder = createDataFolder();
  const folder = imagesFolder(dataFolder);
  mkdirSync(join(folder, 'images.db'), { recursive: true });
  const { repeat, tick } = createManualInterval();
  const errors: unknown[] = [];
  const images = createBlockImages(dataFolder, undefined);
  images.collectGarbageRepeatedly((error) => errors.push(error), { repeat });
  tick();
  await expect.poll(() => errors).toMatchObject([{ message: expect.stringContaining(folder) as string }]);
  rmSync(join(folder, 'images.db'), { recursive: true });
  const file = await storeUnusedImage(folder);
  await expect.poll(() => (tick(), existsSync(file))).toBe(false);
  await images.close();
  expect(errors).toHaveLength(1);
});

it('images that their owner does not need are released before each collection, and a failed release does not prevent the collection', async () => {
  const dataFolder = createDataFolder();
  const folder = imagesFolder(dataFolder);
  const { repeat, tick } = createManualInterval();
  const errors: unknown[] = [];
  const images = createBlockImages(dataFolder, undefined);
  const steps: string[] = [];
  let isBroken = false;
  const releaseUnused = async (): Promise<void> => {
    if (isBroken) throw new Error('the database is gone');
    steps.push(existsSync(file) ? 'released first' : 'released');
  };
  let file = await storeUnusedImage(folder);
  images.collectGarbageRepeatedly((error) => errors.push(error), { repeat, ownedImages: { releaseUnused } });
  await expect.poll(() => existsSync(file)).toBe(false);
  expect([steps, errors]).toEqual([['released first'], []]);
  isBroken = true;
  file = await storeUnusedImage(folder);
  await expect.poll(() => (tick(), existsSync(file))).toBe(false);
  await images.close();
  expect(errors[0]).toMatchObject({ message: 'the database is gone' });
});
