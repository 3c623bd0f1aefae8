import { createHash } from 'node:crypto';
import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { describe, expect, it } from 'vitest';
import { testApi } from '../../../../../test/support/api.ts';
import type { TestApi } from '../../../../../test/support/api.ts';
import { queueRun, untilStatus } from '../../../../../test/support/api-workflows.ts';
import { CONTENT_FILE, ECHO, FILE } from '../../../../../test/support/api-files.ts';

const MiB = 1024 * 1024;

const api: TestApi = await testApi({
  engineOptions: { tenant: (workflowId) => api.store.definitions.tenant(workflowId) },
});
/** Another workspace of the same service, with its own members. */
const other = await testApi({ engine: api.engine, store: api.store });

interface Ran {
  runId: string;
  status: string;
  output: { data: { doc: Json; any: Json; text: Json } };
}

async function echoOf(of: TestApi): Promise<string> {
  return `/api/v2/workflows/${await of.deployed(ECHO)}`;
}

const mine = await echoOf(api);
const theirs = await echoOf(other);

async function run(of: TestApi, path: string, input: { [name: string]: Json }, more: object = {}) {
  const { data } = await of.call<Ran>('POST', `${path}/execute`, { body: { input }, ...more });
  return data;
}

/** Returns a file record of the first workspace, as a response has shown it. */
async function stored(file: Json = FILE): Promise<{ id: string; [field: string]: Json }> {
  const { output } = await run(api, mine, { doc: file });
  const [record] = filesIn(output.data.doc);
  if (!record) throw new Error('There is no file.');
  const { id, name, size, type, key } = record;
  return { id, name, size, type, key };
}

describe('a file record', () => {
  it('opens the file in its own workspace', async () => {
    const { output } = await run(api, mine, { doc: [await stored()] });
    expect(output.data).toMatchObject({ doc: [{ base64: CONTENT_FILE }], text: CONTENT_FILE });
  });

  it('is plain data in another workspace: for blocks, in responses, as a download', async () => {
    const record = await stored();
    const { output, runId } = await run(other, theirs, { doc: [record], any: { deep: record } });
    expect(output.data).toEqual({ doc: [record], any: { deep: record }, text: '' });
    const at = `${theirs}/runs/${runId}`;
    expect((await other.fetch('GET', `${at}/files/${record.id}`)).status).toBe(404);
    const read = await other.call('GET', `${at}?includeOutput=true&includeFileBase64=true`);
    expect(read.status).toBe(404);
    expect(JSON.stringify(read.body)).not.toContain(CONTENT_FILE);
    for (const headers of [{ Accept: 'application/x-ndjson' }, {}]) {
      const body = { input: { doc: [record] }, ...(headers.Accept === undefined && { stream: true }) };
      const streamed = await other.fetch('POST', `${theirs}/execute`, { body, headers });
      expect(await streamed.text()).not.toContain(CONTENT_FILE);
    }
  });

  it('is plain data for a public workflow of another workspace', async () => {
    const body = { isPublicApi: true };
    expect(await other.call('PATCH', `${theirs}/deployment`, { body })).toMatchObject({ status: 200 });
    const record = await stored();
    const { output } = await run(other, theirs, { doc: [record] }, { key: null });
    expect(output.data).toMatchObject({ doc: [record], text: '' });
  });

  it('is plain data for a draft that claims the id of a workflow of another workspace', async () => {
    const record = await stored();
    const draft = await other.drafted({ ...(ECHO as object), id: mine.split('/').at(-1) ?? '' } as Json);
    const { data } = await other.call<Ran>('POST', `/api/v2/workflows/${draft}/execute`, {
      body: { run: { source: 'manual' }, input: { doc: [record] } },
    });
    expect(data.output.data).toMatchObject({ doc: [record], text: '' });
  });
});

describe('a response', () => {
  const large = (size: number): Json => ({
    ...FILE,
    data: `data:;base64,${Buffer.alloc(size).toString('base64')}`,
  });

  it('has no contents for 200 forged records of one key', async () => {
    const record = await stored(large(3 * MiB));
    const forged = Array.from({ length: 200 }, (_, n) => ({ ...record, id: `forged ${n}` }));
    const { output } = await run(api, mine, { any: { list: forged } });
    expect(output.data.any).toEqual({ list: forged });
  });

  it('repeats the content of a record that occurs 200 times up to 16 MiB', async () => {
    const record = await stored(large(3 * MiB));
    const list = Array.from({ length: 200 }, () => record);
    const response = await api.fetch('POST', `${mine}/execute`, { body: { input: { any: { list } } } });
    expect((await response.text()).split('"base64"')).toHaveLength(1 + 5);
  });
});

describe('a file stored by a version without owners', () => {
  /** Returns the record of such a file. That version stored the JSON text of this input. */
  async function older(): Promise<{ [field: string]: Json }> {
    const id = crypto.randomUUID();
    const input = { file: id, data: Buffer.alloc(9000, 'x').toString('base64') };
    await run(api, mine, input);
    const key = `sha256:${createHash('sha256').update(JSON.stringify(input)).digest('hex')}`;
    return { id, name: 'old.txt', size: 9000, type: 'text/plain', key };
  }

  it('is open to the queued run that stored it, and plain data for later runs', async () => {
    const record = await older();
    const workflowId = mine.split('/').at(-1) ?? '';
    const runId = await queueRun(api, workflowId, { doc: [record] });
    await testApi({ engine: api.engine, store: api.store });
    await untilStatus(api, `${mine}/runs/${runId}`, 'completed');
    const query = 'includeOutput=true&includeFileBase64=true';
    const { data } = await api.call<{ files: { base64: string }[] }>('GET', `${mine}/runs/${runId}?${query}`);
    expect(Buffer.from(data.files[0]?.base64 ?? '', 'base64')).toHaveLength(9000);
    const later = await run(api, mine, { doc: [record] });
    expect(later.output.data).toEqual({ doc: [record], any: '', text: '' });
  });
});
