import type { Role } from '@heddle/temporal';
import { readEnv } from '../env.ts';
import { envValues } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import type { PlaceOptions } from '../place.ts';
import { storeName } from '../place.ts';
import type { RunOptions } from '../run-options.ts';
import { DEFAULTS, serverOf } from '../temporal/server-options.ts';
import { startStaff } from '../temporal/staff.ts';
import { untilStopped } from '../temporal/until-stopped.ts';

export type WorkerOptions = Pick<RunOptions, 'env' | 'envFile' | 'json'> &
  PlaceOptions & {
    roles?: Role[];
    health?: string;
    /** Seconds. */
    grace: number;
  };

const ALL: readonly Role[] = ['engine', 'effects', 'segments'];

/** Runs what is started on Temporal until a signal ends it. */
export async function worker(io: Io, options: WorkerOptions): Promise<number> {
  const { roles = ALL, queue = DEFAULTS.queue, grace, data, postgres } = options;
  const environment = readEnv();
  const server = serverOf(options, environment);
  const env = await envValues(options, environment);
  const staff = await startStaff(io, { ...options, server, queue, roles, env });
  const { address, namespace } = server;
  if (options.json) {
    const kept = postgres === undefined ? { data } : {};
    const ready = { ready: true, address, namespace, queue, roles, ...kept, pid: process.pid };
    io.stdout.write(`${JSON.stringify(ready)}\n`);
  } else {
    const takes = roles.length === ALL.length ? '' : ` (${roles.join(', ')})`;
    io.stdout.write(
      `Ready: queue ${queue}${takes} of ${address}, namespace ${namespace}; runs are kept in ${storeName(options)}\n`,
    );
  }
  return untilStopped(io, { ...staff, graceMs: grace * 1000 });
}
