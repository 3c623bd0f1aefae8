import { homedir } from 'node:os';
import {
  createImages,
  findNpm,
  javascriptBuilder,
  nativeBuilder,
  pythonBuilder,
  readAptSettings,
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
  const debian = readAptSettings();
  const program = findNpm(env.value('PATH'));
  const images = createImages({
    folder,
    registries: { npm, python, ...(debian !== undefined && { debian }) },
    builders: {
      javascript: javascriptBuilder({ npm: program }),
      python: pythonBuilder(),
      native: nativeBuilder({ npm: program }),
    },
  });
  try {
    return await use(images);
  } finally {
    await images.close();
  }
}
