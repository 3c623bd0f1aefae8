import type { HeddleWorker, Role, WorkerTuning } from '@heddle/temporal';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { envValues } from '../input/env-values.ts';
import type { EnvOptions } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import { storeName } from '../place.ts';
import type { PlaceOptions } from '../place.ts';
import { DEFAULTS, serverOf } from '../temporal/server-options.ts';
import { lazyWorkflowOwnership, ownershipOf } from '../serve/api-store.ts';
import { startStaff } from '../temporal/staff.ts';
import { untilStopped } from '../temporal/until-stopped.ts';

export type WorkerOptions = EnvOptions &
  PlaceOptions &
  BlockOptions & {
    json: boolean;
    roles?: Role[];
    build?: NonNullable<WorkerTuning['version']>;
    health?: { host: string; port: number };
    /** Seconds. */
    grace: number;
  };

/** Runs what is started on Temporal until a signal ends it. */
export async function worker(io: Io, options: WorkerOptions): Promise<number> {
  const { queue = DEFAULTS.queue, build, grace } = options;
  const environment = readEnv();
  const server = serverOf(options, environment);
  const env = await envValues(options, environment);
  const version = build && { version: build };
  // Workflows of one workspace of the HTTP interface run none of another, nor in its processes: here is where their blocks run.
  const workflowOwnership = lazyWorkflowOwnership(options);
  try {
    const ownership = ownershipOf(workflowOwnership, env);
    const staff = await startStaff(io, { ...options, server, queue, env, ownership, ...version });
    return await untilStopped(io, staff, {
      ready: () => say(io, staff, { ...options, ...server, queue }),
      drainMs: grace * 1000,
    });
  } finally {
    await workflowOwnership.close();
  }
}

type Served = WorkerOptions & { address: string; namespace: string; queue: string };

function say(io: Io, staff: HeddleWorker, options: Served): void {
  const { address, namespace, queue, postgres, data } = options;
  const { roles } = staff.status();
  const { url } = staff;
  if (options.json) {
    const ready = { ready: true, address, namespace, queue, roles, pid: process.pid };
    const more = { ...(postgres === undefined && { data }), ...(url !== undefined && { health: url }) };
    io.stdout.write(`${JSON.stringify({ ...ready, ...more })}\n`);
    return;
  }
  const health = url === undefined ? '' : `; ${url}/healthz tells how it is`;
  io.stdout.write(
    `Ready for ${roles.join(', ')} of queue ${queue} at ${address}, namespace ${namespace}; ` +
      `runs are recorded in ${storeName(options)}${health}\n`,
  );
}
