import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { afterAll, describe, expect, it } from 'vitest';
import { errorIn, findQueuedStart, createTestApi } from '../../../../../test/support/api.ts';
import { waitForStatus } from '../../../../../test/support/api-workflows.ts';
import { ECHO_WORKFLOW, FILE, FILE_BASE64 } from '../../../../../test/support/api-files.ts';

const MiB = 1024 * 1024;

const server = createServer((request, response) => {
  const size = Number(new URL(request.url ?? '/', 'http://x').searchParams.get('size'));
  response.writeHead(200, { 'content-type': 'application/zip' }).end(Buffer.alloc(size, 'x'));
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
afterAll(() => server.close());
const { port } = server.address() as AddressInfo;

const api = await createTestApi({
  engineOptions: { egress: { allowPrivate: ['127.0.0.1/32'], ports: [port] } },
});
const { call, store } = api;
const id = await api.deploy(ECHO_WORKFLOW);
const path = `/api/v2/workflows/${id}`;

interface RunResult {
  runId: string;
  status: string;
  output: { data: Json };
  blockOutputs: { [selector: string]: Json } | null;
  files:
    | { id: string; name: string; size: number; type: string; downloadPath: string; base64?: string }[]
    | null;
}

function run(body: { [key: string]: Json }, headers: { [name: string]: string } = {}) {
  return call<RunResult>('POST', `${path}/execute`, { body, headers });
}

/** Returns an ended run, with the one file of its output. */
async function runWithFile(doc: Json = FILE, name = 'doc') {
  const { data } = await run({ input: { [name]: doc } });
  const runPath = `${path}/runs/${data.runId}`;
  const readResponse = await call<RunResult>('GET', `${runPath}?includeOutput=true`);
  const file = readResponse.data.files?.[0];
  if (!file) throw new Error(JSON.stringify(readResponse.body));
  return { runPath, runId: data.runId, file };
}

const remoteFile = (name: string, size: number): Json => ({
  type: 'url',
  name,
  data: `http://127.0.0.1:${port}/?size=${size}`,
});

describe('a file of an input', () => {
  it('is passed to blocks as a file record, through which they read the content of the file', async () => {
    const { data } = await run({ input: { doc: FILE }, includeFileBase64: false });
    expect(data).toMatchObject({ status: 'completed' });
    expect(data.output.data).toEqual({
      doc: [
        { id: expect.any(String), name: 'abc.txt', size: 3, type: 'text/plain', key: expect.any(String) },
      ],
      any: '',
      text: FILE_BASE64,
    });
  });

  it('is fetched from its URL', async () => {
    const { data } = await run({ input: { doc: remoteFile('x.zip', 5) } });
    expect(data.output.data).toMatchObject({
      doc: [{ name: 'x.zip', size: 5, type: 'application/zip', base64: 'eHh4eHg=' }],
    });
  });

  it('is stored for drafts, with and without a chosen trigger', async () => {
    const manualBody = { run: { source: 'manual' }, input: { doc: FILE } };
    expect((await run(manualBody)).data.output.data).toMatchObject({ text: FILE_BASE64 });
    const state = await call<{ blocks: { [block: string]: { type: string } } }>('GET', `${path}/state`);
    const [blockId = ''] =
      Object.entries(state.data.blocks).find(([, { type }]) => type === 'start_trigger') ?? [];
    const entry = { type: 'trigger', blockId };
    const chosenRun = await run({ run: { source: 'manual', entry }, input: { doc: FILE } });
    expect(chosenRun.data.output.data).toMatchObject({ text: FILE_BASE64 });
    const liveRun = await run({ run: { source: 'deployment', entry }, input: { doc: FILE } });
    expect(liveRun.data.output.data).toMatchObject({ text: FILE_BASE64 });
  });

  it('is stored before a run is queued: the queue has only the record', async () => {
    const { status, data } = await run({ async: true, input: { doc: FILE } });
    expect(status).toBe(202);
    expect(JSON.stringify((await findQueuedStart(store, data.runId)) ?? {})).not.toContain(FILE_BASE64);
    await waitForStatus(api, `${path}/runs/${data.runId}`, 'completed');
    const readResponse = await call<RunResult>('GET', `${path}/runs/${data.runId}?includeOutput=true`);
    expect(readResponse.data.output.data).toMatchObject({ text: FILE_BASE64 });
  });

  it('is accepted by the legacy API, whose responses have its content', async () => {
    const response = await call<unknown>('POST', `/api/workflows/${id}/execute`, { body: { doc: FILE } });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      doc: [{ name: 'abc.txt', base64: FILE_BASE64 }],
      text: FILE_BASE64,
    });
    const headers = { 'X-Execution-Mode': 'async' };
    const acceptedResponse = await call('POST', `/api/workflows/${id}/execute`, {
      headers,
      body: { input: { doc: FILE } },
    });
    const { jobId } = acceptedResponse.body as { jobId: string };
    await waitForStatus(api, `${path}/runs/${jobId}`, 'completed');
  });

  it('gets a name that is not a path', async () => {
    const { data } = await run({ input: { doc: { ...FILE, name: '../../a"b\r\nX-Evil: 1' } } });
    expect(data.output.data).toMatchObject({ doc: [{ name: 'a"b__X-Evil: 1' }] });
  });

  it('of an unknown type is omitted, and a field without any valid file stays unchanged', async () => {
    const mixedRun = await run({ input: { doc: [{ type: 'folder' }, FILE] } });
    expect(mixedRun.data.output.data).toMatchObject({ doc: [{ name: 'abc.txt' }] });
    const folderRun = await run({ input: { doc: [{ type: 'folder' }] } });
    expect(folderRun.data.output.data).toMatchObject({ doc: [{ type: 'folder' }] });
  });
});

describe('a file that cannot be stored', () => {
  it.each<[string, Json, string]>([
    ['no data URL', { ...FILE, data: 'YWJj' }, 'abc.txt (its data is not a data URL'],
    ['wrong Base64', { ...FILE, data: 'data:text/plain;base64,a*b' }, 'abc.txt (its content is not Base64'],
    ['too large', remoteFile('big.bin', 20 * MiB + 1), 'big.bin (it is larger than 20 MB'],
    ['from a cloud metadata server', { ...FILE, type: 'url', data: 'http://169.254.169.254/' }, 'abc.txt ('],
    ['from another port of this machine', { ...FILE, type: 'url', data: 'http://127.0.0.1:1/' }, 'abc.txt ('],
    ['with a name of two lines', { ...FILE, name: 'x\ny', data: '' }, 'x_y (its data is not a data URL'],
  ])('fails the run before it starts: %s', async (_case, doc, reason) => {
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const { status, body, headers: responseHeaders } = await run({ input: { doc } }, headers);
    expect(status).toBe(400);
    const runId = headers['X-Run-Id'];
    const message = expect.stringContaining(`File processing failed: Failed to upload file: ${reason}`);
    expect(body).toMatchObject({ error: { code: 'BAD_REQUEST', message, details: { runId } } });
    expect(responseHeaders.get('x-run-id')).toBe(runId);
    const readResponse = await call('GET', `${path}/runs/${runId}?includeOutput=true`);
    expect(readResponse.data).toMatchObject({
      status: 'failed',
      error: { code: 'INVALID_INPUT', message },
      files: [],
    });
    expect(await run({ input: {} }, headers)).toMatchObject({ status: 409 });
    expect(await call('POST', `${path}/runs/${runId}/cancel`)).toMatchObject({
      data: { success: false, reason: 'already_failed' },
    });
  });

  it.each([
    ['asynchronous run', { async: true }, {}],
    ['streamed run', { stream: true }, {}],
    ['NDJSON response', {}, { Accept: 'application/x-ndjson' }],
    ['run of a draft', { run: { source: 'manual' } }, {}],
  ])('is also refused with 400: %s', async (_case, options, headers) => {
    const response = await run({ ...options, input: { doc: { ...FILE, data: '' } } }, headers);
    expect(response.status).toBe(400);
    expect(errorIn(response.body).message).toMatch(/^File processing failed: /);
  });

  it('is refused by the legacy API in its own format', async () => {
    const body = { doc: { ...FILE, data: '' } };
    const response = await call('POST', `/api/workflows/${id}/execute`, { body });
    expect(response).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^File processing failed: /) },
    });
  });

  it('is not reported when the run could not start anyway', async () => {
    const entry = { type: 'trigger', blockId: 'ghost' };
    const response = await run({ run: { source: 'manual', entry }, input: { doc: { ...FILE, data: '' } } });
    expect(response.status).toBe(400);
    expect(errorIn(response.body).message).toContain('ghost');
  });
});

describe('files of an output', () => {
  it('are shown with their contents in synchronous responses, as requested', async () => {
    const result = await run({ input: { doc: FILE }, selectedOutputs: ['Start.doc'] });
    expect(result.data.output.data).toMatchObject({ doc: [{ base64: FILE_BASE64 }] });
    expect(result.data.blockOutputs).toMatchObject({ 'Start.doc': [{ base64: FILE_BASE64 }] });
    for (const options of [{ includeFileBase64: false }, { base64MaxBytes: 2 }]) {
      const { data } = await run({ input: { doc: FILE }, ...options });
      expect(filesIn(data.output.data)).toHaveLength(1);
      expect(JSON.stringify(data.output.data)).not.toContain('base64');
    }
  });

  it('are shown in streams', async () => {
    const body = { stream: true, input: { doc: FILE }, selectedOutputs: ['Start.doc'] };
    const streamText = await (await api.fetch('POST', `${path}/execute`, { body })).text();
    expect(streamText).toContain('base64');
    const finalResponse = await api.fetch('POST', `${path}/execute`, {
      body: { stream: true, input: { doc: FILE } },
    });
    expect(await finalResponse.text()).toContain(`"base64":"${FILE_BASE64}"`);
    const headers = { Accept: 'application/x-ndjson' };
    const ndjsonResponse = await api.fetch('POST', `${path}/execute`, {
      headers,
      body: { input: { doc: FILE } },
    });
    expect(await ndjsonResponse.text()).toContain(`"base64":"${FILE_BASE64}"`);
    const bodyWithoutContents = { stream: true, includeFileBase64: false, input: { doc: FILE } };
    const response = await api.fetch('POST', `${path}/execute`, { body: bodyWithoutContents });
    expect(await response.text()).not.toContain('"base64"');
  });

  it('are at most 16 MiB in a stream, over its chunks and its last event', async () => {
    const selectedOutputs = ['Start.doc.0', 'Start.doc.1'];
    const input = { doc: [remoteFile('a', 9 * MiB), remoteFile('b', 9 * MiB)] };
    const stream = await api.fetch('POST', `${path}/execute`, {
      body: { stream: true, input, selectedOutputs },
    });
    const text = await stream.text();
    expect(text.split('sha256:')).toHaveLength(3);
    expect(text.split('base64')).toHaveLength(2);
  });

  it('are at most 16 MiB in a response; the run has the paths of the other files', async () => {
    const doc = [remoteFile('a', 9 * MiB), remoteFile('b', 9 * MiB), FILE];
    const { data } = await run({ input: { doc } });
    const docs = (data.output.data as { doc: { base64?: string }[] }).doc;
    expect(docs.map(({ base64 }) => base64 !== undefined)).toEqual([true, false, true]);
    const query = 'includeOutput=true&includeFileBase64=true';
    const readResponse = await call('GET', `${path}/runs/${data.runId}?${query}`);
    expect(readResponse).toMatchObject({ status: 413, body: { error: { code: 'PAYLOAD_TOO_LARGE' } } });
    const [, secondFile] = filesIn(data.output.data);
    expect(errorIn(readResponse.body).message).toContain(
      `GET ${path}/runs/${data.runId}/files/${secondFile?.id}`,
    );
  });

  it('are refused with 413 if an output has more than 100 files', async () => {
    const { data } = await run({ input: { doc: FILE } });
    const [file] = filesIn(data.output.data);
    const records = Array.from({ length: 101 }, (_, index) => ({
      ...file,
      id: `file-${index}`,
      key: file?.key.replace(/.{3}$/, String(100 + index)),
    }));
    const manyFilesRun = await run({ input: { any: { records } as unknown as Json } });
    const runPath = `${path}/runs/${manyFilesRun.data.runId}?includeOutput=true`;
    expect((await call<RunResult>('GET', runPath)).data.files).toHaveLength(101);
    const refusal = await call('GET', `${runPath}&includeFileBase64=true`);
    expect(refusal).toMatchObject({ status: 413, body: { error: { code: 'PAYLOAD_TOO_LARGE' } } });
    expect(errorIn(refusal.body).message).toContain('more than 100 files');
  });

  it('cannot be requested for asynchronous runs, or over the limit', async () => {
    for (const options of [
      { includeFileBase64: true },
      { includeFileBase64: false },
      { base64MaxBytes: 5 },
    ]) {
      expect(await run({ async: true, ...options })).toMatchObject({
        status: 400,
        body: {
          error: { message: 'Async execution does not support streaming or output-shaping options' },
        },
      });
    }
    for (const base64MaxBytes of [0, 16 * MiB + 1, 1.5]) {
      expect(await run({ base64MaxBytes })).toMatchObject({ status: 400 });
    }
  });

  it('are listed with the output of a run, and shown on request', async () => {
    const { runPath, file } = await runWithFile();
    expect(file).toEqual({
      ...{ id: expect.any(String), name: 'abc.txt', size: 3, type: 'text/plain' },
      downloadPath: `${runPath}/files/${file.id}`,
    });
    expect((await call<RunResult>('GET', runPath)).data.files).toBeNull();
    const query = 'includeOutput=true&includeFileBase64=true';
    const result = await call<RunResult>('GET', `${runPath}?${query}`);
    expect(result.data.files).toEqual([{ ...file, base64: FILE_BASE64 }]);
    const refusal = await call('GET', `${runPath}?${query}&base64MaxBytes=2`);
    expect(refusal.status).toBe(413);
    expect(errorIn(refusal.body).message).toContain(`GET ${file.downloadPath}`);
    const emptyRun = await run({ input: {} });
    const emptyPath = `${path}/runs/${emptyRun.data.runId}?includeOutput=true`;
    expect((await call<RunResult>('GET', emptyPath)).data.files).toEqual([]);
  });

  it.each(['includeFileBase64=true', 'includeFileBase64=false', 'base64MaxBytes=5'])(
    'are shown only with the output: %s alone is refused',
    async (query) => {
      const response = await call('GET', `${path}/runs/any?${query}`);
      expect(response.status).toBe(400);
      expect(errorIn(response.body).message).toContain('is only accepted with includeOutput=true');
    },
  );
});
