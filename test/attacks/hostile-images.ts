import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createImages,
  javascriptBuilder,
  pythonBuilder,
  type ImageRecord,
  type Images,
} from '@heddle/images';
import type { LoadedImage } from '@heddle/sandbox';
import { findNpm } from '../../packages/images/src/javascript/npm-settings.ts';
import { openNpmRegistry } from '../support/npm-registry.ts';
import { openPythonIndex } from '../support/python/python-index.ts';
import { HOSTILE_NPM } from './hostile-npm.ts';
import { HOSTILE_WHEELS } from './hostile-wheels.ts';
import { levels } from './levels.ts';

/** Hostile packages that can be built, by image name. */
const IMAGES = {
  replaces: { language: 'javascript', dependencies: ['replaces'] },
  pollutes: { language: 'javascript', dependencies: ['pollutes'] },
  freezes: { language: 'javascript', dependencies: ['freezes'] },
  'has-pending-work': { language: 'javascript', dependencies: ['has-pending-work'] },
  combined: {
    language: 'javascript',
    dependencies: ['first-use', 'intercepts', 'promises', 'prototype', 'remembers', 'then', 'uses-node'],
  },
  wheels: {
    language: 'python',
    dependencies: HOSTILE_WHEELS.map(({ name }) => name),
  },
} as const;

export type HostileImage = keyof typeof IMAGES;

/** A folder with images of hostile packages, each built at its first use. */
export interface HostileImages {
  readonly folder: string;
  readonly images: Images;
  /** Opens the image as sandboxes do. */
  open(id: string): Promise<LoadedImage>;
  /** Builds npm packages with the shared builder. Returns the record. */
  build(dependencies: readonly string[]): Promise<ImageRecord>;
  /** Opens the images of the folder as another process of the host does. */
  reopen(): Images;
  close(): Promise<void>;
}

/** Sets up a registry and an index of hostile packages, and their images. */
export async function openHostileImages(): Promise<HostileImages> {
  const registry = await openNpmRegistry(HOSTILE_NPM);
  const index = await openPythonIndex(HOSTILE_WHEELS);
  const folder = mkdtempSync(join(tmpdir(), 'hostile-images-'));
  const isolation = levels.at(-1)?.options.isolation ?? {};
  const npm = findNpm(process.env['PATH']);
  const reopen = (): Images =>
    createImages({
      folder,
      builders: {
        javascript: javascriptBuilder({ npm, isolation, limits: { cpuMs: 2_000, memoryMiB: 64 } }),
        python: pythonBuilder({ isolation }),
      },
      registries: { npm: { registry: registry.url }, python: { index: index.url } },
    });
  const images = reopen();
  const builds = new Map<string, Promise<ImageRecord>>();
  const buildOnce = (name: HostileImage): Promise<ImageRecord> => {
    const build = builds.get(name) ?? images.build(IMAGES[name], { name });
    builds.set(name, build);
    return build;
  };
  return {
    folder,
    images,
    reopen,
    async open(id) {
      if (Object.hasOwn(IMAGES, id)) await buildOnce(id as HostileImage);
      return images.open(id);
    },
    build: (dependencies) => images.build({ language: 'javascript', dependencies }),
    async close() {
      await images.close();
      registry.close();
      index.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
