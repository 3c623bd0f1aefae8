import { homedir } from 'node:os';
import {
  createImages,
  findNpm,
  javascriptBuilder,
  pythonBuilder,
  readNpmSettings,
  readPipSettings,
} from '@heddle/sandbox/images';
import type { Images } from '@heddle/sandbox/images';
import { readEnv } from '../env.ts';

/** Hands the images of a folder to `use`, and closes them whatever happens. Registries are those of the ordinary clients. */
export async function withImages<T>(folder: string, use: (images: Images) => Promise<T>): Promise<T> {
  const env = readEnv();
  const home = homedir();
  const npm = readNpmSettings({ env: env.all, cwd: process.cwd(), home });
  const python = readPipSettings({ env: env.all, home });
  const images = createImages({
    folder,
    registries: { npm, python },
    builders: {
      javascript: javascriptBuilder({ npm: findNpm(env.value('PATH')) }),
      python: pythonBuilder(),
    },
  });
  try {
    return await use(images);
  } finally {
    await images.close();
  }
}
