import { createHash } from 'node:crypto';
import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import type { TestApi } from '../../../../../test/support/api.ts';
import { queueRun, waitForStatus } from '../../../../../test/support/api-workflows.ts';
import { ECHO_WORKFLOW, FILE, FILE_BASE64 } from '../../../../../test/support/api-files.ts';

const MiB = 1024 * 1024;

const api: TestApi = await createTestApi({
  engineOptions: { tenant: (workflowId) => api.store.definitions.tenant(workflowId) },
});
/** Another workspace of the same service, with its own members. */
const otherApi = await createTestApi({ engine: api.engine, store: api.store });

interface RunResult {
  runId: string;
  status: string;
  output: { data: { doc: Json; any: Json; text: Json } };
}

async function deployEcho(client: TestApi): Promise<string> {
  return `/api/v2/workflows/${await client.deploy(ECHO_WORKFLOW)}`;
}

const ownPath = await deployEcho(api);
const otherPath = await deployEcho(otherApi);

async function run(client: TestApi, path: string, input: { [name: string]: Json }, options: object = {}) {
  const { data } = await client.call<RunResult>('POST', `${path}/execute`, { body: { input }, ...options });
  return data;
}

/** Returns a file record of the first workspace, as a response has shown it. */
async function storeRecord(file: Json = FILE): Promise<{ id: string; [field: string]: Json }> {
  const { output } = await run(api, ownPath, { doc: file });
  const [record] = filesIn(output.data.doc);
  if (!record) throw new Error('There is no file.');
  const { id, name, size, type, key } = record;
  return { id, name, size, type, key };
}

describe('a file record', () => {
  it('opens the file in its own workspace', async () => {
    const { output } = await run(api, ownPath, { doc: [await storeRecord()] });
    expect(output.data).toMatchObject({ doc: [{ base64: FILE_BASE64 }], text: FILE_BASE64 });
  });

  it('is plain data in another workspace: for blocks, in responses, as a download', async () => {
    const record = await storeRecord();
    const { output, runId } = await run(otherApi, otherPath, { doc: [record], any: { deep: record } });
    expect(output.data).toEqual({ doc: [record], any: { deep: record }, text: '' });
    const runPath = `${otherPath}/runs/${runId}`;
    expect((await otherApi.fetch('GET', `${runPath}/files/${record.id}`)).status).toBe(404);
    const readResponse = await otherApi.call('GET', `${runPath}?includeOutput=true&includeFileBase64=true`);
    expect(readResponse.status).toBe(404);
    expect(JSON.stringify(readResponse.body)).not.toContain(FILE_BASE64);
    for (const headers of [{ Accept: 'application/x-ndjson' }, {}]) {
      const body = { input: { doc: [record] }, ...(headers.Accept === undefined && { stream: true }) };
      const stream = await otherApi.fetch('POST', `${otherPath}/execute`, { body, headers });
      expect(await stream.text()).not.toContain(FILE_BASE64);
    }
  });

  it('is plain data for a public workflow of another workspace', async () => {
    const body = { isPublicApi: true };
    expect(await otherApi.call('PATCH', `${otherPath}/deployment`, { body })).toMatchObject({ status: 200 });
    const record = await storeRecord();
    const { output } = await run(otherApi, otherPath, { doc: [record] }, { key: null });
    expect(output.data).toMatchObject({ doc: [record], text: '' });
  });

  it('is plain data for a draft that claims the id of a workflow of another workspace', async () => {
    const record = await storeRecord();
    const workflowId = ownPath.split('/').at(-1) ?? '';
    const draftId = await otherApi.createDraft({ ...(ECHO_WORKFLOW as object), id: workflowId } as Json);
    const { data } = await otherApi.call<RunResult>('POST', `/api/v2/workflows/${draftId}/execute`, {
      body: { run: { source: 'manual' }, input: { doc: [record] } },
    });
    expect(data.output.data).toMatchObject({ doc: [record], text: '' });
  });
});

describe('a response', () => {
  const fileOfSize = (size: number): Json => ({
    ...FILE,
    data: `data:;base64,${Buffer.alloc(size).toString('base64')}`,
  });

  it('has no contents for 200 forged records of one stored file', async () => {
    const record = await storeRecord(fileOfSize(3 * MiB));
    const forgedRecords = Array.from({ length: 200 }, (_, n) => ({ ...record, id: `forged ${n}` }));
    const { output } = await run(api, ownPath, { any: { list: forgedRecords } });
    expect(output.data.any).toEqual({ list: forgedRecords });
  });

  it('repeats the content of a record that occurs 200 times up to 16 MiB', async () => {
    const record = await storeRecord(fileOfSize(3 * MiB));
    const list = Array.from({ length: 200 }, () => record);
    const response = await api.fetch('POST', `${ownPath}/execute`, { body: { input: { any: { list } } } });
    expect((await response.text()).split('"base64"')).toHaveLength(1 + 5);
  });
});

describe('a file that an older version stored without an owner', () => {
  /** Stores the file's JSON, as that version did, by passing it as the input of a run. Returns the file's record. */
  async function storeOlderRecord(): Promise<{ [field: string]: Json }> {
    const id = crypto.randomUUID();
    const input = { file: id, data: Buffer.alloc(9000, 'x').toString('base64') };
    await run(api, ownPath, input);
    const key = `sha256:${createHash('sha256').update(JSON.stringify(input)).digest('hex')}`;
    return { id, name: 'old.txt', size: 9000, type: 'text/plain', key };
  }

  it('can be read by the queued run that stored it, and is plain data for later runs', async () => {
    const record = await storeOlderRecord();
    const workflowId = ownPath.split('/').at(-1) ?? '';
    const runId = await queueRun(api, workflowId, { doc: [record] });
    await createTestApi({ engine: api.engine, store: api.store });
    await waitForStatus(api, `${ownPath}/runs/${runId}`, 'completed');
    const query = 'includeOutput=true&includeFileBase64=true';
    const { data } = await api.call<{ files: { base64: string }[] }>(
      'GET',
      `${ownPath}/runs/${runId}?${query}`,
    );
    expect(Buffer.from(data.files[0]?.base64 ?? '', 'base64')).toHaveLength(9000);
    const laterRun = await run(api, ownPath, { doc: [record] });
    expect(laterRun.output.data).toEqual({ doc: [record], any: '', text: '' });
  });
});
