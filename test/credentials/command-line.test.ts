import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openServiceStore } from '@heddle/service';
import { describe, expect, it, onTestFinished } from 'vitest';
import { draftOf } from '../support/api.ts';
import { dataFolder } from '../support/data-folder.ts';
import { heddle, startServe } from '../support/heddle.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const KEY = 'sk-the-key-of-the-workspace';

/** Starts a model server whose responses contain the key of the request. */
async function startEchoingModel() {
  const server = await startModelServer(({ headers }) => ({ text: `You sent ${headers.authorization}.` }));
  onTestFinished(() => server.close());
  return { requests: server.requests, serviceArgs: ['--service', `openai=${server.services.openai}`] };
}

const AGENT = workflow(
  [block('A', 'agent', { model: 'gpt-4o', messages: [{ role: 'user', content: 'What is my key?' }] })],
  ['Start -> A'],
);

/** Returns the content of all files of the folder as one string. */
function contentOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

async function addKey(data: string, ...options: string[]): Promise<void> {
  const args = ['credentials', 'add', 'Models', '--provider', 'openai', '--data', data, ...options];
  expect(await heddle(args, { input: `${KEY}\n` })).toMatchObject({ exit: 0 });
}

describe('a key that is stored with heddle credentials add', { timeout: 120_000 }, () => {
  it('is used by heddle run --workspace, and is in no file and no output', async () => {
    const data = dataFolder();
    const store = await openServiceStore({ data });
    const { workspaceId = '' } = (await store.workspaces.bootstrap()) ?? {};
    await store.close();
    await addKey(data);
    const { requests, serviceArgs } = await startEchoingModel();
    const file = join(data, 'agent.json');
    writeFileSync(file, JSON.stringify(AGENT));
    const runArgs = ['run', file, '--data', data, ...serviceArgs, '--json'];
    const withoutWorkspace = await heddle(runArgs);
    expect(withoutWorkspace.stdout).toContain('MODEL_KEY_MISSING');
    expect(requests).toEqual([]);
    expect((await heddle([...runArgs, '--workspace', 'none'])).stderr).toContain(
      'There is no such workspace.',
    );
    const withWorkspace = await heddle([...runArgs, '--workspace', workspaceId]);
    expect(withWorkspace.stdout).toContain('You sent Bearer «redacted:Models».');
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(contentOf(data) + withWorkspace.stdout + withWorkspace.stderr).not.toContain(KEY);
  });

  it('is used by a running heddle serve, only for the workflows of its workspace', async () => {
    const data = dataFolder();
    const { requests, serviceArgs } = await startEchoingModel();
    const ready = await startServe(['--data', data, ...serviceArgs]);
    const callApi = async (method: string, path: string, body: object) => {
      const headers = { 'X-API-Key': ready.key, 'Content-Type': 'application/json' };
      const response = await fetch(ready.url + path, { method, headers, body: JSON.stringify(body) });
      return (await response.json()) as { data: { id: string } };
    };
    const store = await openServiceStore({ data });
    const otherWorkspaceId = await store.workspaces.createWorkspace(
      'Other',
      (await store.workspaces.firstUser())?.id ?? '',
    );
    await store.close();
    const execute = async (workspaceId: string): Promise<string> => {
      const { data: created } = await callApi('POST', '/api/v2/workflows', { workspaceId, name: 'Ask' });
      await callApi('PUT', `/api/v2/workflows/${created.id}/state`, draftOf(AGENT));
      await callApi('POST', `/api/v2/workflows/${created.id}/deploy`, {});
      return JSON.stringify(await callApi('POST', `/api/v2/workflows/${created.id}/execute`, {}));
    };
    await addKey(data, '--workspace', ready.workspaceId);
    expect(await execute(otherWorkspaceId)).toContain('MODEL_KEY_MISSING');
    expect(requests).toEqual([]);
    expect(await execute(ready.workspaceId)).toContain('You sent Bearer «redacted:Models».');
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    ready.process.child.kill('SIGTERM');
    const { stdout, stderr } = await ready.process.ended;
    expect(contentOf(data) + stdout + stderr).not.toContain(KEY);
  });
});
