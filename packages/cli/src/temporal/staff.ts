import type { DeploymentOptions, HeddleWorker, Role, ServerOptions, WorkerTuning } from '@heddle/temporal';
import { blockImages } from '../block-images.ts';
import { blockOptions } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { reporter } from '../engine-session.ts';
import type { Io } from '../io.ts';
import { storesOf } from '../place.ts';
import { loadTemporal } from './load.ts';
import type { StoreOptions } from '../place.ts';
import type { Ownership } from '../serve/api-store.ts';

/** What a process of workers is made of. */
export interface StaffOptions extends StoreOptions, BlockOptions {
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
  /** Which workflows may run which, whose they are, and their environments; default: all, nobody's, and `env`. */
  ownership?: Ownership;
}

/** The worker of this process, once it asks for work. Throws RUNTIME_UNREACHABLE, DATA_LOCKED, OPTIONS_INVALID, ISOLATION_TOO_LOW and what the stores throw. */
export async function startStaff(
  io: Io,
  { server, checkpoint, env, roles, version, health, ownership, ...rest }: StaffOptions,
): Promise<HeddleWorker> {
  const blocks = await blockOptions(rest);
  const { createWorker } = await loadTemporal();
  const images = blockImages(rest.data, rest.isolation);
  const worker = await createWorker({
    ...server,
    ...blocks,
    ...storesOf(rest),
    queue: rest.queue,
    env,
    ...(checkpoint && { checkpoint }),
    tuning: { ...(roles && { roles }), ...(version && { version }) },
    ...ownership,
    ...(health && { http: health }),
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
