import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, inject, vi } from 'vitest';
import { fetchTool, toFoundTool, getTool } from '../tools/fetch.ts';
import type { ToolSearchResult } from '../tools/fetch.ts';

/** Finds the server's program on this machine, or waits until test/integrations/s3-setup.ts has built it. */
async function findServerProgram(): Promise<ToolSearchResult> {
  const file = inject('s3') as string | undefined;
  if (file === undefined) return fetchTool('versitygw', { ...getTool('versitygw'), installMethods: [] });
  while (!existsSync(file)) await delay(100);
  return JSON.parse(readFileSync(file, 'utf8')) as ToolSearchResult;
}

const tool = toFoundTool('versitygw', await findServerProgram());

/** True if an S3 server is available for tests. If not, the reason is printed. */
export const hasS3 = tool !== undefined;

/** An S3 server for a test file. It listens only on this machine. */
export interface S3Server {
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Starts a server with these empty buckets. The server is stopped after the tests of the file. */
export async function startS3Server(...buckets: readonly string[]): Promise<S3Server> {
  if (!tool) throw new Error('There is no S3 server for tests: skip tests that need it with hasS3.');
  const folder = mkdtempSync(join(tmpdir(), 'heddle-s3-'));
  const [root, sidecar] = ['objects', 'sidecar'].map((name) => join(folder, name)) as [string, string];
  for (const name of [root, sidecar, ...buckets.map((bucket) => join(root, bucket))]) mkdirSync(name);
  const port = await findFreePort();
  const keys = { accessKeyId: `key${randomUUID().slice(0, 8)}`, secretAccessKey: randomUUID() };
  const env = { ...tool.env, ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey };
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', sidecar, root];
  const server = spawn(tool.path, args, { env, cwd: folder, stdio: 'ignore' });
  afterAll(() => {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(() => fetch(url), { timeout: 30_000, interval: 50 });
  return { url, ...keys };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
