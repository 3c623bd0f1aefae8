import type {
  DeploymentOptions,
  HeddleWorker,
  ProcessRole,
  ServerOptions,
  WorkerTuning,
} from '@heddle/temporal';
import type { EngineOptions } from '@heddle/engine';
import { createBlockImages } from '../block-images.ts';
import type { BlockImages, OwnedImages } from '../block-images.ts';
import { blockEngineOptions } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { errorReporter } from '../engine-session.ts';
import type { Io } from '../io.ts';
import { temporalStoreOption } from '../store-options.ts';
import { loadTemporal } from './runtime.ts';
import type { StoreOptions } from '../store-options.ts';
import type { TenantPorts } from '../serve/service-store.ts';

/** Options of a worker process. */
export interface StartWorkerOptions extends StoreOptions, BlockOptions {
  server: ServerOptions & Pick<DeploymentOptions, 'encryption'>;
  checkpoint?: DeploymentOptions['checkpoint'];
  queue: string;
  env: { [name: string]: string };
  /** Default: all. */
  roles?: readonly ProcessRole[] | undefined;
  /** Default: unversioned. */
  version?: WorkerTuning['version'];
  /** Address of the health endpoint. */
  health?: { host: string; port: number } | undefined;
  /** Owners and environments of workflows; default: no owners, and `env` for all. */
  tenantPorts?: TenantPorts;
  /** Returns the URLs at which people answer pauses. Default: none. */
  pauseLinks?: NonNullable<EngineOptions['pauseLinks']> | undefined;
  /** Returns the image source that blocks use instead of `images`, the images of the data folder. */
  connectImages?: (images: BlockImages) => OwnedImages;
}

/**
 * Starts the worker of this process. Throws RUNTIME_UNREACHABLE, DATA_LOCKED, OPTIONS_INVALID, ISOLATION_TOO_LOW and
 * errors of the stores.
 */
export async function startWorker(
  io: Io,
  {
    server,
    checkpoint,
    env,
    roles,
    version,
    health,
    tenantPorts,
    pauseLinks,
    connectImages,
    ...options
  }: StartWorkerOptions,
): Promise<HeddleWorker> {
  const blockOptions = await blockEngineOptions(options);
  const { createWorker } = await loadTemporal();
  const images = createBlockImages(options.data, options.isolation);
  const ownedImages = connectImages?.(images);
  const onError = errorReporter(io);
  const worker = await createWorker({
    ...server,
    ...blockOptions,
    ...temporalStoreOption(options),
    taskQueue: options.queue,
    env,
    ...(checkpoint && { checkpoint }),
    tuning: { ...(roles && { roles }), ...(version && { version }) },
    ...tenantPorts,
    ...(pauseLinks && { pauseLinks }),
    ...(health && { http: health }),
    images: ownedImages ?? images,
    onError,
  });
  images.collectGarbageRepeatedly(onError, { ownedImages });
  return {
    finished: worker.finished,
    url: worker.url,
    status: () => worker.status(),
    async stop(stopOptions) {
      await worker.stop(stopOptions);
      await images.close();
    },
  };
}
