import type { IsolationLevel } from '@heddle/sandbox';
import type {
  DeploymentOptions,
  HeddleWorker,
  Role,
  ServerOptions,
  WorkerOptions,
  WorkerTuning,
} from '@heddle/temporal';
import { blockImages } from '../block-images.ts';
import { reporter } from '../engine-session.ts';
import type { Io } from '../io.ts';
import { storesOf } from '../place.ts';
import type { StoreOptions } from '../place.ts';

/** What a process of workers is made of. */
export interface StaffOptions extends StoreOptions {
  server: ServerOptions & Pick<DeploymentOptions, 'encryption'>;
  checkpoint?: DeploymentOptions['checkpoint'];
  queue: string;
  env: { [name: string]: string };
  /** Default: all. */
  roles?: readonly Role[] | undefined;
  /** Default: no versions. */
  version?: WorkerTuning['version'];
  /** Where questions about its health are answered. */
  health?: { host: string; port: number } | undefined;
  /** The level below which no code runs. */
  isolation?: IsolationLevel | undefined;
  /** Which workflows may run which, and whose they are; default: all, and one tenant's. */
  belongings?: Required<Pick<WorkerOptions, 'callee' | 'tenant'>>;
}

/** The worker of this process, once it asks for work. Throws RUNTIME_UNREACHABLE, DATA_LOCKED, OPTIONS_INVALID, ISOLATION_TOO_LOW and what the stores throw. */
export async function startStaff(
  io: Io,
  { server, checkpoint, env, roles, version, health, isolation, belongings, ...place }: StaffOptions,
): Promise<HeddleWorker> {
  const { createWorker } = await import('@heddle/temporal');
  const images = blockImages(place.data, isolation);
  const worker = await createWorker({
    ...server,
    ...storesOf(place),
    queue: place.queue,
    env,
    ...(checkpoint && { checkpoint }),
    tuning: { ...(roles && { roles }), ...(version && { version }) },
    ...(belongings && { callee: belongings.callee, tenant: belongings.tenant }),
    ...(health && { http: health }),
    ...(isolation && { sandbox: { isolation: { minimum: isolation } } }),
    images,
    onError: reporter(io),
  });
  return {
    finished: worker.finished,
    url: worker.url,
    status: () => worker.status(),
    async stop(options) {
      await worker.stop(options);
      await images.close();
    },
  };
}
