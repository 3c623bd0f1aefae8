import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  createImages,
  findNpm,
  javascriptBuilder,
  pythonBuilder,
  readNpmSettings,
  readPipSettings,
  type Images,
} from '@heddle/images';
import { PEERS_FOLDER } from '../peer.ts';
import { PACKAGES } from './code.ts';

/** The specs of the images (sets of packages), by name. Each image is built once, in the folder of the peers. */
export const IMAGE_SPECS = {
  javascript: { language: 'javascript', dependencies: PACKAGES },
  python: { language: 'python', dependencies: ['pydantic>=2'] },
} as const;

/** Opens the image folder. Images are built from the registries in the configuration of npm and pip. */
export function openImages(): Images {
  const home = homedir();
  return createImages({
    folder: join(PEERS_FOLDER, '.heddle-images'),
    builders: {
      javascript: javascriptBuilder({ npm: findNpm(process.env['PATH']) }),
      python: pythonBuilder(),
    },
    registries: {
      npm: readNpmSettings({ env: process.env, cwd: process.cwd(), home }),
      python: readPipSettings({ env: process.env, home }),
    },
  });
}
