import type { RuntimeProvider } from '@heddle/engine';
import type * as Temporal from '@heddle/temporal';
import type * as TemporalServer from '@heddle/temporal/server';
import packageJson from '../../package.json' with { type: 'json' };
import { readEnv } from '../env.ts';
import { temporalStoreOption } from '../store-options.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';
import { TEMPORAL_DEFAULTS, serverOptionsOf } from './server-options.ts';

const PACKAGE_NAME = '@heddle/temporal';

/** Loads the optional package for Temporal. Throws a usage error if it is not installed. */
export function loadTemporal(): Promise<typeof Temporal> {
  return requireInstalled(import('@heddle/temporal'));
}

/** Loads the part of the package for development servers. Throws a usage error if it is not installed. */
export function loadTemporalServer(): Promise<typeof TemporalServer> {
  return requireInstalled(import('@heddle/temporal/server'));
}

async function requireInstalled<T>(modulePromise: Promise<T>): Promise<T> {
  try {
    return await modulePromise;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // If a dependency of the package is missing, the installation is broken: report the error unchanged.
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(`'${PACKAGE_NAME}'`)) throw error;
    const version = packageJson.peerDependencies[PACKAGE_NAME];
    throw new UsageError(
      `Temporal needs the package ${PACKAGE_NAME}, which is not installed.`,
      `Install it next to heddle: npm install ${PACKAGE_NAME}@${version} (with -g if heddle is installed globally)`,
    );
  }
}

/** Returns the Temporal runtime for the server in the options. Loads the SDK only after the options are checked. */
export async function runtimeOf(options: RuntimeOptions): Promise<RuntimeProvider> {
  const { queue = TEMPORAL_DEFAULTS.queue, checkpoint, worker = true } = options;
  const server = serverOptionsOf(options, readEnv());
  const { temporal } = await loadTemporal();
  return temporal({
    ...server,
    ...temporalStoreOption(options),
    ...(checkpoint && { checkpoint }),
    taskQueue: queue,
    worker,
  });
}
