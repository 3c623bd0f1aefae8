import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, vi } from 'vitest';
import { requireTool } from '../tools/fetch.ts';
import { TOOLS } from '../tools/tools.ts';
import { isFull } from './scale.ts';

const { versitygw } = TOOLS;
if (!versitygw) throw new Error('test/tools/tools.ts has no versitygw.');
const isAsked = isFull || (process.env['HEDDLE_REQUIRE'] ?? '').split(',').includes('versitygw');
/** A quick run does not wait for the minutes that the build takes. */
const tool = requireTool('versitygw', { versitygw: isAsked ? versitygw : { ...versitygw, routes: [] } });

/** Whether there is a server of S3 for tests. The reason is printed where there is none. */
export const hasS3 = tool !== undefined;

/** A server of S3 for a test file, on this machine only, with empty buckets. */
export interface S3Server {
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Starts a server with these buckets. It ends with the tests of the file. */
export async function s3Server(...buckets: readonly string[]): Promise<S3Server> {
  if (!tool) throw new Error('There is no server of S3 here: skip these tests with hasS3.');
  const folder = mkdtempSync(join(tmpdir(), 'heddle-s3-'));
  const [root, sidecar] = ['objects', 'sidecar'].map((name) => join(folder, name)) as [string, string];
  for (const name of [root, sidecar, ...buckets.map((bucket) => join(root, bucket))]) mkdirSync(name);
  const port = await freePort();
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

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
