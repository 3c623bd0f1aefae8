// One API per process for the routes of a Next.js app. HEDDLE_DATA is the data folder, default ./.heddle.
import { createApi, openApiStore } from '@heddle/api';
import type { Api } from '@heddle/api';
import { createEngine } from '@heddle/engine';

const data = process.env['HEDDLE_DATA'] ?? './.heddle';
const held = globalThis as { heddleApi?: Promise<Api> };

/** Returns the API of this process. `globalThis` keeps it when the development server reloads this file. */
export function heddle(): Promise<Api> {
  held.heddleApi ??= start();
  return held.heddleApi;
}

async function start(): Promise<Api> {
  return createApi({ engine: await createEngine({ data }), store: await openApiStore({ data }) });
}
