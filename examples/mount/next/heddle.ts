import { createApi, openApiStore } from '@heddle/api';
import type { Api } from '@heddle/api';
import { createEngine } from '@heddle/engine';

const data = process.env['HEDDLE_DATA'] ?? './.heddle';
const held = globalThis as { heddleApi?: Promise<Api> };

/** The API of this process: one, also when the development server loads this file again. */
export function heddle(): Promise<Api> {
  held.heddleApi ??= start();
  return held.heddleApi;
}

async function start(): Promise<Api> {
  return createApi({ engine: await createEngine({ data }), store: await openApiStore({ data }) });
}
