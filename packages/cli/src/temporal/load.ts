import type * as Temporal from '@heddle/temporal';
import type * as TemporalServer from '@heddle/temporal/server';
import packageJson from '../../package.json' with { type: 'json' };
import { UsageError } from '../usage-error.ts';

const NAME = '@heddle/temporal';

/** The runtime on Temporal, an optional part of the command. Throws a usage error where it is not installed. */
export function loadTemporal(): Promise<typeof Temporal> {
  return installed(import('@heddle/temporal'));
}

/** Its development server. Throws a usage error where it is not installed. */
export function loadTemporalServer(): Promise<typeof TemporalServer> {
  return installed(import('@heddle/temporal/server'));
}

async function installed<T>(loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A part that it needs itself may be missing too: that is a broken installation, and told as it is.
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(`'${NAME}'`)) throw error;
    const version = packageJson.peerDependencies[NAME];
    throw new UsageError(
      `Temporal needs the package ${NAME}, which is not installed.`,
      `Add it where heddle is installed: npm install ${NAME}@${version} (with -g where heddle is global)`,
    );
  }
}
