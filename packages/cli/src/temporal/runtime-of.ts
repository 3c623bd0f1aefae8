import type { RuntimeProvider } from '@heddle/engine';
import { readEnv } from '../env.ts';
import { storesOf } from '../place.ts';
import type { PlaceOptions } from '../place.ts';
import { loadTemporal } from './load.ts';
import { DEFAULTS, serverOf } from './server-options.ts';

/** The runtime on the server that the options name. Loads the SDK only once the options are understood. */
export async function runtimeOf(options: PlaceOptions): Promise<RuntimeProvider> {
  const { queue = DEFAULTS.queue, checkpoint, worker = true } = options;
  const server = serverOf(options, readEnv());
  const { temporal } = await loadTemporal();
  return temporal({
    ...server,
    ...storesOf(options),
    ...(checkpoint && { checkpoint }),
    queue,
    worker,
  });
}
