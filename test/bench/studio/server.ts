import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { draftOf } from '../../support/draft.ts';
import { block, condition, fn, workflow } from '../../support/workflow.ts';

/** A server with a run of 2,000 blocks. */
export interface StudioServer {
  url: string;
  key: string;
  runId: string;
  stop(): Promise<void>;
}

/** Number of blocks in chains: all except the trigger, the condition and the last block. */
const CHAINED_BLOCK_COUNT = 1997;
const CHAIN_LENGTH = 40;

const LARGE_WORKFLOW = workflow(
  [
    condition('Which', { many: 'false', last: '' }),
    ...Array.from({ length: CHAINED_BLOCK_COUNT }, (_, index) => block(`B${index}`, 'variables', {})),
    fn('Last', 'return "end"'),
  ],
  [
    'Start -> Which',
    'Which:last -> Last',
    ...Array.from({ length: CHAINED_BLOCK_COUNT }, (_, index) =>
      index % CHAIN_LENGTH === 0 ? `Which:many -> B${index}` : `B${index - 1} -> B${index}`,
    ),
  ],
);

/** Starts `heddle serve` in a new folder, deploys the large workflow and runs it once. */
export async function startStudioServer(): Promise<StudioServer> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const manifest = createRequire(import.meta.url).resolve('heddle/package.json');
  const args = [
    join(dirname(manifest), 'bin', 'heddle.js'),
    'serve',
    '--port',
    '0',
    '--json',
    '--data',
    dataFolder,
  ];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = async (): Promise<void> => {
    const ended = once(server, 'exit');
    server.kill();
    await ended;
    rmSync(dataFolder, { recursive: true, force: true });
  };
  try {
    const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
    const { url, key, workspaceId } = JSON.parse(line) as { url: string; key: string; workspaceId: string };
    const callApi = async <Data>(method: string, path: string, body: object): Promise<Data> => {
      const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
      const response = await fetch(`${url}/api/v2/workflows${path}`, {
        ...{ method, headers, body: JSON.stringify(body) },
      });
      if (!response.ok) throw new Error(await response.text());
      return ((await response.json()) as { data: Data }).data;
    };
    const { id } = await callApi<{ id: string }>('POST', '', { workspaceId, name: 'Large' });
    await callApi('PUT', `/${id}/state`, draftOf(LARGE_WORKFLOW));
    await callApi('POST', `/${id}/deploy`, {});
    const { runId } = await callApi<{ runId: string }>('POST', `/${id}/execute`, {});
    return { url, key, runId, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
