import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { makeDataFolderPrivate } from '@heddle/engine/stores';
import type { IsolationLevel, IsolationOptions } from '@heddle/sandbox';
import {
  createImages,
  findNpm,
  javascriptBuilder,
  nativeBuilder,
  pythonBuilder,
  readAptSettings,
  readGoSettings,
  readNpmSettings,
  readPipSettings,
  type Images,
} from '@heddle/images';
import { readEnv } from '../env.ts';
import { onInterrupt } from '../interrupt.ts';
import { UsageError } from '../usage-error.ts';

/** An image folder, and options for its builds. */
export interface ImagesOptions {
  images: string;
  isolation?: IsolationLevel;
  bubblewrap?: string;
  /** Trusted SHA-256 digests by id of a command-line tool. */
  checksums?: Readonly<Record<string, string>>;
  /** Time limit of a build, in milliseconds. */
  buildTimeoutMs?: number;
}

/** Returns the isolation options of the sandbox. */
export function isolationOf({ isolation, bubblewrap }: ImagesOptions): { isolation?: IsolationOptions } {
  const options = {
    ...(isolation !== undefined && { minimum: isolation }),
    ...(bubblewrap !== undefined && { bubblewrap }),
  };
  return Object.keys(options).length === 0 ? {} : { isolation: options };
}

/** Opens the images of a folder, and creates the folder if it is missing. Throws a usage error if it cannot be used. */
export function openImages(options: ImagesOptions): Images {
  const env = readEnv();
  const home = homedir();
  const npm = readNpmSettings({ env: env.variables, cwd: process.cwd(), home });
  const python = readPipSettings({ env: env.variables, home });
  const go = readGoSettings({ env: env.variables, home });
  const debian = readAptSettings();
  const npmPath = findNpm(env.value('PATH'));
  const isolation = isolationOf(options);
  const { checksums = {}, buildTimeoutMs } = options;
  const builders = {
    javascript: javascriptBuilder({ npm: npmPath, ...isolation }),
    python: pythonBuilder(isolation),
    native: nativeBuilder({ npm: npmPath, checksums, ...isolation }),
  };
  const registries = { npm, python, go, ...(debian !== undefined && { debian }) };
  try {
    const limits = buildTimeoutMs === undefined ? {} : { buildTimeoutMs };
    const images = createImages({ folder: options.images, registries, builders, ...limits });
    allowTraversal(options.images);
    return images;
  } catch (error) {
    throw new UsageError(
      `Cannot store images in ${options.images}: ${(error as Error).message}.`,
      'Use --images DIR for a writable folder.',
    );
  }
}

/**
 * If the images are in a data folder, lets the OS users of sandbox processes traverse that folder to the images.
 * Recorded runs stay private.
 */
function allowTraversal(imagesFolder: string): void {
  const dataFolder = dirname(resolve(imagesFolder));
  if (existsSync(join(dataFolder, 'lock.db')))
    makeDataFolderPrivate(dataFolder, ({ message }) => process.emitWarning(message, 'HeddleWarning'));
}

/**
 * Calls `use` with the images of a folder, and closes them afterwards. Ctrl-C cancels builds. Registries come from the
 * settings of npm, pip, Go and apt.
 */
export async function withImages<T>(options: ImagesOptions, use: (images: Images) => Promise<T>): Promise<T> {
  const images = openImages(options);
  const removeHandlers = onInterrupt(() => void images.close(), undefined, ['SIGINT', 'SIGTERM']);
  try {
    return await use(images);
  } finally {
    await images.close();
    removeHandlers();
  }
}
