import type { HeddleWorker, Role, WorkerTuning } from '@heddle/temporal';
import type { BlockImages } from '../block-images.ts';
import type { BlockOptions } from '../block-options.ts';
import { reporter } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { envValues } from '../input/env-values.ts';
import type { EnvOptions } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import { storeName } from '../store-options.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { DEFAULTS, serverOf } from '../temporal/server-options.ts';
import { lazyWorkflowOwnership, ownershipOf } from '../serve/service-store.ts';
import { startWorker } from '../temporal/start-worker.ts';
import { untilStopped } from '../temporal/until-stopped.ts';

export type WorkerOptions = EnvOptions &
  RuntimeOptions &
  BlockOptions & {
    json: boolean;
    roles?: Role[];
    build?: NonNullable<WorkerTuning['version']>;
    health?: { host: string; port: number };
    /** Seconds. */
    grace: number;
  };

/** Executes runs on Temporal until a signal. */
export async function worker(io: Io, options: WorkerOptions): Promise<number> {
  const { queue = DEFAULTS.queue, build, grace } = options;
  const environment = readEnv();
  const server = serverOf(options, environment);
  const env = await envValues(options, environment);
  const version = build && { version: build };
  const report = reporter(io);
  // Workflows of different workspaces must not call each other or share processes. This worker runs their blocks, so it checks.
  const workflowOwnership = lazyWorkflowOwnership(options, (error) => report(error, undefined));
  try {
    const ownership = ownershipOf(workflowOwnership, env);
    const imagesOf = (images: BlockImages) => workflowOwnership.sandboxImages(images);
    const started = await startWorker(io, {
      ...options,
      server,
      queue,
      env,
      ownership,
      imagesOf,
      ...version,
    });
    return await untilStopped(io, started, {
      ready: () => printReady(io, started, { ...options, ...server, queue }),
      drainMs: grace * 1000,
    });
  } finally {
    await workflowOwnership.close();
  }
}

type ReadyOptions = WorkerOptions & { address: string; namespace: string; queue: string };

function printReady(io: Io, started: HeddleWorker, options: ReadyOptions): void {
  const { address, namespace, queue, postgres, data } = options;
  const { roles } = started.status();
  const { url } = started;
  if (options.json) {
    const ready = { ready: true, address, namespace, queue, roles, pid: process.pid };
    const more = { ...(postgres === undefined && { data }), ...(url !== undefined && { health: url }) };
    io.stdout.write(`${JSON.stringify({ ...ready, ...more })}\n`);
    return;
  }
  const health = url === undefined ? '' : `; health: ${url}/healthz`;
  io.stdout.write(
    `Ready: ${roles.join(', ')} on queue ${queue} at ${address}, namespace ${namespace}; ` +
      `data in ${storeName(options)}${health}\n`,
  );
}
