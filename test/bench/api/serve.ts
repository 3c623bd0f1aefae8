import { listen } from '../../../packages/cli/src/serve/listen.ts';
import type { ListeningServer } from '../../../packages/cli/src/serve/listen.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCpuMs, serve } from '../ipc.ts';
import { openGate, getStepCount, waitForSteps } from './blocks.ts';
import type {
  OpenedContender,
  Storage,
  Reply,
  ServerRequest,
  Contender,
  ContenderName,
} from './contender.ts';

type Open = (folder: string | undefined, storage: Storage) => Promise<Contender>;

const CONTENDERS: { readonly [name in ContenderName]: () => Promise<{ open: Open }> } = {
  heddle: () => import('./heddle.ts'),
  hono: () => import('./hono.ts'),
  constant: () => import('./constant.ts'),
};

let folder: string | undefined;
let contender: Contender | undefined;
let server: ListeningServer | undefined;

async function open(name: ContenderName, storage: Storage): Promise<OpenedContender> {
  if (storage !== 'memory') folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const openedContender = await (await CONTENDERS[name]()).open(folder, storage);
  contender = openedContender;
  // All contenders use the listener of `heddle serve`.
  server = await listen(async (request) => openedContender.fetch(request), { host: '127.0.0.1', port: 0 });
  const { run, wait, webhook, reads } = openedContender;
  return { origin: server.url, run, wait, ...(webhook && { webhook }), ...(reads && { reads }) };
}

async function close(): Promise<void> {
  server?.close();
  await contender?.close();
  await server?.waitUntilClosed();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

async function handleRequest(request: ServerRequest): Promise<Reply> {
  if (typeof request === 'object') {
    if ('open' in request) return open(request.open, request.storage);
    await waitForSteps(request.steps);
    return 'done';
  }
  if (request === 'steps') return { number: getStepCount() };
  if (request === 'cpu') return { number: readCpuMs() };
  if (request === 'memory') return { number: readLiveMemoryKb() };
  if (request === 'gate') openGate();
  else await close();
  return 'done';
}

/** Returns the live memory, after a garbage collection. */
function readLiveMemoryKb(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024;
}

serve(handleRequest);
