import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  createImages,
  type ImageBuilder,
  type ImageBuilders,
  type Images,
  type ImagesOptions,
} from '@heddle/images';
import { onTestFinished } from 'vitest';

export const IMAGE_SPEC = { language: 'javascript', dependencies: ['alpha', 'beta@^2'] };

/** Creates a folder for images, which is removed after the test. */
export function createImageFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'images-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Returns a builder that writes one file and records its calls. */
export function createFakeBuilder(overrides: Partial<ImageBuilder> = {}): ImageBuilder & { calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    runtime: 'isolate',
    runtimeKeyParts: async () => ({ engine: '1' }),
    async resolve(spec) {
      calls.push('resolve');
      const entries = spec.dependencies.map((name) => ({ name, version: '1.0.0', digest: 'sha256:00' }));
      return { entries, data: null };
    },
    async assemble(lock, spec, context) {
      calls.push('assemble');
      const path = join(context.workFolder, 'bundle');
      writeFileSync(path, JSON.stringify(lock));
      const modules = spec.dependencies;
      return { blobs: { 'bundle.js': path }, features: { modules }, warnings: [], tools: {} };
    },
    ...overrides,
  };
}

/** Opens images in a new folder. They are closed after the test. */
export function openImages(builders: ImageBuilders, options: Partial<ImagesOptions> = {}): Images {
  const images = createImages({ folder: createImageFolder(), builders, ...options });
  onTestFinished(() => images.close());
  return images;
}

/** Returns a clock that advances only when `advance` is called. */
export function createFakeClock() {
  let nowMs = 1_700_000_000_000;
  return { now: () => nowMs, sleep: () => Promise.resolve(), advance: (ms: number) => (nowMs += ms) };
}

/**
 * Stores an image in a folder, unused since 2023. Returns the path of its file. The folder has no other images. The
 * image is built at the present time, because a collection that runs meanwhile deletes work folders of old builds.
 */
export async function storeUnusedImage(folder: string): Promise<string> {
  const images = createImages({ folder, builders: { javascript: createFakeBuilder() } });
  const { id } = await images.build(IMAGE_SPEC);
  const { path } = (await images.open(id)).blobs['bundle.js']!;
  images.remove(id);
  await images.close();
  const database = new DatabaseSync(join(folder, 'images.db'));
  database.exec('DELETE FROM leases');
  database.exec('UPDATE images SET unused_since = 1700000000000');
  database.exec('UPDATE blobs SET added_at = 1700000000000');
  database.close();
  return path;
}
