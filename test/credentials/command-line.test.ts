import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openServiceStore } from '@heddle/service';
import { describe, expect, it, onTestFinished } from 'vitest';
import { draftOf } from '../support/api.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const KEY = 'sk-the-key-of-the-workspace';

/** Starts a model server whose responses contain the key of the request. */
async function startEchoingModel() {
  const server = await startModelServer(({ headers }) => ({ text: `You sent ${headers.authorization}.` }));
  onTestFinished(() => server.close());
  return { requests: server.requests, serviceArgs: ['--service', `openai=${server.services.openai}`] };
}

const AGENT_WORKFLOW = workflow(
  [block('A', 'agent', { model: 'gpt-4o', messages: [{ role: 'user', content: 'What is my key?' }] })],
  ['Start -> A'],
);

/** Returns the content of all files of the folder as one string. */
function readAllFiles(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

async function addKey(dataFolder: string, ...options: string[]): Promise<void> {
  const args = ['credentials', 'add', 'Models', '--provider', 'openai', '--data', dataFolder, ...options];
  expect(await runHeddle(args, { input: `${KEY}\n` })).toMatchObject({ exitCode: 0 });
}

describe('a key that is stored with heddle credentials add', { timeout: 120_000 }, () => {
  it('is used by heddle run --workspace, and is in no file and no output', async () => {
    const dataFolder = createDataFolder();
    const store = await openServiceStore({ data: dataFolder });
    const { workspaceId = '' } = (await store.workspaces.bootstrap()) ?? {};
    await store.close();
    await addKey(dataFolder);
    const { requests, serviceArgs } = await startEchoingModel();
    const file = join(dataFolder, 'agent.json');
    writeFileSync(file, JSON.stringify(AGENT_WORKFLOW));
    const runArgs = ['run', file, '--data', dataFolder, ...serviceArgs, '--json'];
    const resultWithoutWorkspace = await runHeddle(runArgs);
    expect(resultWithoutWorkspace.stdout).toContain('MODEL_KEY_MISSING');
    expect(requests).toEqual([]);
    expect((await runHeddle([...runArgs, '--workspace', 'none'])).stderr).toContain(
      'There is no such workspace.',
    );
    const resultWithWorkspace = await runHeddle([...runArgs, '--workspace', workspaceId]);
    expect(resultWithWorkspace.stdout).toContain('You sent Bearer «redacted:Models».');
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(readAllFiles(dataFolder) + resultWithWorkspace.stdout + resultWithWorkspace.stderr).not.toContain(
      KEY,
    );
  });

  it('is used by a running heddle serve, only for the workflows of its workspace', async () => {
    const dataFolder = createDataFolder();
    const { requests, serviceArgs } = await startEchoingModel();
    const server = await startHeddleServe(['--data', dataFolder, ...serviceArgs]);
    const callApi = async (method: string, path: string, body: object) => {
      const headers = { 'X-API-Key': server.key, 'Content-Type': 'application/json' };
      const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
      return (await response.json()) as { data: { id: string } };
    };
    const store = await openServiceStore({ data: dataFolder });
    const otherWorkspaceId = await store.workspaces.createWorkspace(
      'Other',
      (await store.workspaces.findFirstUser())?.id ?? '',
    );
    await store.close();
    const executeNewWorkflow = async (workspaceId: string): Promise<string> => {
      const { data: createdWorkflow } = await callApi('POST', '/api/v2/workflows', {
        workspaceId,
        name: 'Ask',
      });
      await callApi('PUT', `/api/v2/workflows/${createdWorkflow.id}/state`, draftOf(AGENT_WORKFLOW));
      await callApi('POST', `/api/v2/workflows/${createdWorkflow.id}/deploy`, {});
      return JSON.stringify(await callApi('POST', `/api/v2/workflows/${createdWorkflow.id}/execute`, {}));
    };
    await addKey(dataFolder, '--workspace', server.workspaceId);
    expect(await executeNewWorkflow(otherWorkspaceId)).toContain('MODEL_KEY_MISSING');
    expect(requests).toEqual([]);
    expect(await executeNewWorkflow(server.workspaceId)).toContain('You sent Bearer «redacted:Models».');
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    server.process.child.kill('SIGTERM');
    const { stdout, stderr } = await server.process.result;
    expect(readAllFiles(dataFolder) + stdout + stderr).not.toContain(KEY);
  });
});
