import { listen } from '../../../packages/cli/src/serve/listen.ts';
import type { Listening } from '../../../packages/cli/src/serve/listen.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuMs, serve } from '../served.ts';
import { openGate, steps, untilSteps } from './blocks.ts';
import type { Opened, Place, Reply, Request_, Side, SideName } from './side.ts';

type Open = (folder: string | undefined) => Promise<Side>;

const SIDES: { readonly [name in SideName]: () => Promise<{ open: Open }> } = {
  heddle: () => import('./heddle.ts'),
  hono: () => import('./hono.ts'),
  constant: () => import('./constant.ts'),
};

let folder: string | undefined;
let side: Side | undefined;
let server: Listening | undefined;

async function open(name: SideName, place: Place): Promise<Opened> {
  if (place === 'folder') folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const opened = await (await SIDES[name]()).open(folder);
  side = opened;
  // The listener of `heddle serve`, for all of them.
  server = await listen(async (request) => opened.fetch(request), { host: '127.0.0.1', port: 0 });
  return { origin: server.url, run: opened.run, wait: opened.wait };
}

async function close(): Promise<void> {
  server?.close();
  await side?.close();
  await server?.ended();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

async function answer(request: Request_): Promise<Reply> {
  if (typeof request === 'object') {
    if ('open' in request) return open(request.open, request.place);
    await untilSteps(request.steps);
    return 'done';
  }
  if (request === 'steps') return { number: steps() };
  if (request === 'cpu') return { number: cpuMs() };
  if (request === 'memory') return { number: liveKb() };
  if (request === 'gate') openGate();
  else await close();
  return 'done';
}

/** Memory in use: what is garbage already is no memory of anybody's. */
function liveKb(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024;
}

serve(answer);
