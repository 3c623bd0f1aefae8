import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { makePrivateData } from '@heddle/engine/stores';
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

/** Where images are, and how far what is done with them has to be confined. */
export interface ImagesPlace {
  images: string;
  isolation?: IsolationLevel;
  bubblewrap?: string;
  /** Of files of publishers that the operator vouches for: id of a command-line tool → SHA-256. */
  checksums?: Readonly<Record<string, string>>;
  /** How long a build may take. */
  buildTimeoutMs?: number;
}

/** The options of the sandbox that a place stands for. */
export function isolationOf({ isolation, bubblewrap }: ImagesPlace): { isolation?: IsolationOptions } {
  const asked = {
    ...(isolation !== undefined && { minimum: isolation }),
    ...(bubblewrap !== undefined && { bubblewrap }),
  };
  return Object.keys(asked).length === 0 ? {} : { isolation: asked };
}

/** The images of a folder, which is made where it is missing. Throws a usage error where they cannot be kept there. */
export function openImages(place: ImagesPlace): Images {
  const env = readEnv();
  const home = homedir();
  const npm = readNpmSettings({ env: env.all, cwd: process.cwd(), home });
  const python = readPipSettings({ env: env.all, home });
  const go = readGoSettings({ env: env.all, home });
  const debian = readAptSettings();
  const program = findNpm(env.value('PATH'));
  const isolation = isolationOf(place);
  const { checksums = {}, buildTimeoutMs } = place;
  const builders = {
    javascript: javascriptBuilder({ npm: program, ...isolation }),
    python: pythonBuilder(isolation),
    native: nativeBuilder({ npm: program, checksums, ...isolation }),
  };
  const registries = { npm, python, go, ...(debian !== undefined && { debian }) };
  try {
    const limits = buildTimeoutMs === undefined ? {} : { buildTimeoutMs };
    const images = createImages({ folder: place.images, registries, builders, ...limits });
    letPass(place.images);
    return images;
  } catch (error) {
    throw new UsageError(
      `Images cannot be kept in ${place.images}: ${(error as Error).message}.`,
      'Name a folder that you may write to: --images DIR.',
    );
  }
}

/** Lets the users of sandbox processes pass the data folder that the images are in; recorded runs stay closed to them. */
function letPass(images: string): void {
  const data = dirname(resolve(images));
  if (existsSync(join(data, 'lock.db')))
    makePrivateData(data, ({ message }) => process.emitWarning(message, 'HeddleWarning'));
}

/**
 * Hands the images of a folder to `use`, and closes them whatever happens; Ctrl-C breaks builds off. Registries are those
 * of the ordinary clients.
 */
export async function withImages<T>(place: ImagesPlace, use: (images: Images) => Promise<T>): Promise<T> {
  const images = openImages(place);
  const stop = onInterrupt(() => void images.close(), undefined, ['SIGINT', 'SIGTERM']);
  try {
    return await use(images);
  } finally {
    await images.close();
    stop();
  }
}
