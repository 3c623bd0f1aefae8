import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyAuthenticator, openServiceStore } from '@heddle/service';
import { combineAuthenticators, sessionAuthenticator, withSessions } from '@heddle/service/access';
import { studioPages } from '@heddle/studio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestApi } from '../support/api.ts';
import { chromiumTool, startBrowser } from '../support/browser.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { draftOf } from '../support/draft.ts';
import { serveFetch } from '../support/mcp-server.ts';
import { findFreePort } from '../support/postgres-server.ts';
import { withoutUndefined } from '../support/without-undefined.ts';
import { fn, loop, workflow } from '../support/workflow.ts';
import { resolveTool } from '../tools/fetch.ts';

const nginx = resolveTool('nginx');

/** The base path at which a host serves the API and the pages. */
const BASE_PATH = '/internal/heddle';

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
  const folder = createDataFolder();
  for (const name of ['logs', 'temp']) mkdirSync(join(folder, name));
  const tempPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path temp/${kind};`,
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
        location ${BASE_PATH}/ {
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
  let stderrText = '';
  child.stderr.on('data', (text: Buffer) => (stderrText += text.toString()));
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`nginx has ended: ${stderrText}`);
    const isUp = await fetch(url).then(
      () => true,
      () => new Promise<false>((resolve) => setTimeout(resolve, 50, false)),
    );
    if (isUp) return url;
  }
  throw new Error(`nginx does not respond: ${stderrText}`);
}

describe.skipIf(!chromiumTool || !nginx)('the Studio behind nginx at a base path', () => {
  it(
    'lets a user sign in, follow a run live without buffering, and cancel it',
    { timeout: 90_000 },
    async () => {
      const port = await findFreePort();
      const store = await openServiceStore();
      const { sessions, keys } = store;
      const rules = {
        hosts: new Set([`127.0.0.1:${port}`]),
        cookieName: 'heddle_session',
        basePath: BASE_PATH,
      };
      const authenticator = combineAuthenticators(
        keyAuthenticator(keys),
        sessionAuthenticator(sessions, rules),
      );
      const { api, key, workspaceId } = await createTestApi({ store, authenticator, basePath: BASE_PATH });
      const fetchWithSession = withSessions(api.fetch, { ...rules, sessions, keys });
      const pages = studioPages({ basePath: BASE_PATH });
      const server = await serveFetch(async (request) => (await pages(request)) ?? fetchWithSession(request));
      const url = await startNginx(nginx?.path ?? '', port, new URL(server.url).origin);
      const request = (method: string, path: string, body?: object) =>
        fetch(`${url}${BASE_PATH}${path}`, {
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

      const draftResponse = await request('GET', `/api/v2/workflows/${id}/state`);
      expect(draftResponse.headers.get('content-encoding')).toBe('gzip');
      await draftResponse.json();

      const streamResponse = await request('GET', `/api/v2/logs/${runId}/events`);
      expect(streamResponse.headers.get('server')).toContain('nginx');
      expect(streamResponse.headers.get('content-encoding')).toBeNull();
      const reader = (streamResponse.body as ReadableStream<Uint8Array>).getReader();
      const readChunk = async () => new TextDecoder().decode((await reader.read()).value);
      expect(await readChunk()).toContain('data: {');
      // An iteration takes a second. A buffer of 4 KB would collect many iterations.
      const nextChunk = await readChunk();
      expect(nextChunk).toContain('data: {');
      expect(nextChunk.length).toBeLessThan(2000);

      const browser = await startBrowser();
      onTestFinished(() => browser.close());
      const page = await browser.newPage();
      const pageErrors: string[] = [];
      page.on('pageerror', (error) => pageErrors.push(error.message));
      await page.goto(`${url}${BASE_PATH}/`);
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Counts' }).click();
      await page.locator('.run-title').getByText('Running').waitFor();
      expect(new URL(page.url()).pathname).toBe(`${BASE_PATH}/runs/${runId}`);
      await page.getByRole('button', { name: /^Minute/ }).waitFor();
      await page.getByRole('button', { name: 'Cancel run' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
      await page.locator('.run-title').getByText('Cancelled').waitFor();
      let remainder = '';
      for (let readResult = await reader.read(); !readResult.done; readResult = await reader.read())
        remainder += new TextDecoder().decode(readResult.value);
      expect(remainder).toContain('[DONE]');
      expect(pageErrors).toEqual([]);
    },
  );
});
