import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyAuthenticator, openServiceStore } from '@heddle/service';
import { combineAuthenticators, sessionAuthenticator, withSessions } from '@heddle/service/access';
import { studioPages } from '@heddle/studio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testApi } from '../support/api.ts';
import { chromiumTool, startBrowser } from '../support/browser.ts';
import { dataFolder } from '../support/data-folder.ts';
import { draftOf } from '../support/draft.ts';
import { serveFetch } from '../support/mcp-server.ts';
import { freePort } from '../support/postgres-server.ts';
import { withoutUndefined } from '../support/without-undefined.ts';
import { fn, loop, workflow } from '../support/workflow.ts';
import { requireTool } from '../tools/fetch.ts';

const nginx = requireTool('nginx');

/** The base path at which a host serves the API and the pages. */
const BASE = '/internal/heddle';

const ONE_MINUTE_LOOP = workflow(
  [
    loop(
      'Minute',
      { loopType: 'for', count: 60 },
      fn('Count', 'await new Promise((resolve) => setTimeout(resolve, 1000))'),
    ),
  ],
  ['Start -> Minute -> Count'],
);

/** Starts nginx in front of a server, with default buffers and timeouts. Returns the URL of nginx. */
async function startNginx(path: string, port: number, upstream: string): Promise<string> {
  const folder = dataFolder();
  for (const name of ['logs', 'temp']) mkdirSync(join(folder, name));
  const tempPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path temp/${each};`,
  );
  // The configuration of docs/operations.md for a base path, without X-Forwarded-For.
  const config = `
    daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
    events { worker_connections 64; }
    http {
      access_log off; ${tempPaths.join(' ')}
      gzip on; gzip_types application/json; gzip_min_length 1024;
      server {
        listen 127.0.0.1:${port};
        location ${BASE}/ {
          proxy_pass ${upstream};
          proxy_http_version 1.1;
          proxy_set_header Host $http_host;
        }
      }
    }`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  const args = ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')];
  const child = spawn(path, args, {
    env: withoutUndefined(nginx?.env ?? {}),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGTERM'));
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`nginx has ended: ${errors}`);
    const isUp = await fetch(url).then(
      () => true,
      () => new Promise<false>((resolve) => setTimeout(resolve, 50, false)),
    );
    if (isUp) return url;
  }
  throw new Error(`nginx does not answer: ${errors}`);
}

describe.skipIf(!chromiumTool || !nginx)('the Studio behind nginx at a base path', () => {
  it(
    'lets a user sign in, follow a run live without buffering, and cancel it',
    { timeout: 90_000 },
    async () => {
      const port = await freePort();
      const store = await openServiceStore();
      const { sessions, keys } = store;
      const rules = { hosts: new Set([`127.0.0.1:${port}`]), cookie: 'heddle_session', basePath: BASE };
      const authenticator = combineAuthenticators(
        keyAuthenticator(keys),
        sessionAuthenticator(sessions, rules),
      );
      const { api, key, workspaceId } = await testApi({ store, authenticator, basePath: BASE });
      const withSession = withSessions(api.fetch, { ...rules, sessions, keys });
      const pages = studioPages({ basePath: BASE });
      const server = await serveFetch(async (request) => (await pages(request)) ?? withSession(request));
      const url = await startNginx(nginx?.path ?? '', port, new URL(server.url).origin);
      const request = (method: string, path: string, body?: object) =>
        fetch(`${url}${BASE}${path}`, {
          method,
          headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        });
      const call = async (...args: Parameters<typeof request>) =>
        ((await (await request(...args)).json()) as { data: { id: string; runId: string } }).data;
      const { id } = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Counts' });
      await call('PUT', `/api/v2/workflows/${id}/state`, draftOf(ONE_MINUTE_LOOP));
      await call('POST', `/api/v2/workflows/${id}/deploy`, {});
      const { runId } = await call('POST', `/api/v2/workflows/${id}/execute`, { async: true });

      const draft = await request('GET', `/api/v2/workflows/${id}/state`);
      expect(draft.headers.get('content-encoding')).toBe('gzip');
      await draft.json();

      const stream = await request('GET', `/api/v2/logs/${runId}/events`);
      expect(stream.headers.get('server')).toContain('nginx');
      expect(stream.headers.get('content-encoding')).toBeNull();
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
      const readChunk = async () => new TextDecoder().decode((await reader.read()).value);
      expect(await readChunk()).toContain('data: {');
      // An iteration takes a second. A buffer of 4 KB would collect many iterations.
      const nextChunk = await readChunk();
      expect(nextChunk).toContain('data: {');
      expect(nextChunk.length).toBeLessThan(2000);

      const browser = await startBrowser();
      onTestFinished(() => browser.close());
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(`${url}${BASE}/`);
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Counts' }).click();
      await page.locator('.run-title').getByText('Running').waitFor();
      expect(new URL(page.url()).pathname).toBe(`${BASE}/runs/${runId}`);
      await page.getByRole('button', { name: /^Minute/ }).waitFor();
      await page.getByRole('button', { name: 'Cancel run' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
      await page.locator('.run-title').getByText('Cancelled').waitFor();
      let remainder = '';
      for (let part = await reader.read(); !part.done; part = await reader.read())
        remainder += new TextDecoder().decode(part.value);
      expect(remainder).toContain('[DONE]');
      expect(faults).toEqual([]);
    },
  );
});
