// One API per process for the routes of a Next.js app. HEDDLE_DATA is the data folder, default ./.heddle.
import { createApi } from '@heddle/api';
import type { Api } from '@heddle/api';
import { createEngine } from '@heddle/engine';
import { keyAuthenticator, openServiceStore, serviceAreas, servicePorts } from '@heddle/service';

const data = process.env['HEDDLE_DATA'] ?? './.heddle';
type MountedApi = Pick<Api, 'fetch' | 'close'>;
const globals = globalThis as { heddleApi?: Promise<MountedApi> };

/** Returns the API of this process. `globalThis` stores it, because the development server reloads this file. */
export function getHeddleApi(): Promise<MountedApi> {
  globals.heddleApi ??= start();
  return globals.heddleApi;
}

async function start(): Promise<MountedApi> {
  const store = await openServiceStore({ data });
  const { resolveChild, tenant } = store.definitions;
  const engine = await createEngine({ data, resolveChild, tenant });
  return createApi({
    engine,
    database: store,
    authenticator: keyAuthenticator(store.keys),
    ports: servicePorts(store),
    areas: serviceAreas({ store }),
  });
}
