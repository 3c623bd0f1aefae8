import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { describe, expect, it } from 'vitest';
import { errorIn, testApi } from '../../../../../test/support/api.ts';
import { BROKEN } from '../../../../../test/support/api-workflows.ts';
import { ECHO, FILE } from '../../../../../test/support/api-files.ts';

const api = await testApi();
const { call, store, workspaceId } = api;
const path = `/api/v2/workflows/${await api.deployed(ECHO)}`;

interface Ran {
  runId: string;
  output: { data: Json };
}

/** Returns the path of the workflow's runs, and the files of a run with this input. */
async function ran(input: { [key: string]: Json }) {
  const { data } = await call<Ran>('POST', `${path}/execute`, { body: { input, includeFileBase64: false } });
  const [file] = filesIn(data.output.data);
  if (!file) throw new Error('There is no file.');
  return { file, at: `${path}/runs/${data.runId}/files/${encodeURIComponent(file.id)}`, runId: data.runId };
}

describe('the download of a file', () => {
  it('returns its bytes as an attachment, and is recorded', async () => {
    const { at, file, runId } = await ran({ doc: { ...FILE, name: 'Übersicht "1".txt' } });
    const response = await api.fetch('GET', at);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('abc');
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '3',
      'content-disposition': `attachment; filename="_bersicht _1_.txt"; filename*=UTF-8''%C3%9Cbersicht%20%221%22.txt`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
    });
    expect(await store.audit.ofResource(file.id)).toMatchObject([
      {
        action: 'FILE_DOWNLOADED',
        workspace_id: workspaceId,
        user_id: api.userId,
        resource_type: 'run_file',
      },
    ]);
    const [event] = await store.audit.ofResource(file.id);
    expect(JSON.parse(event?.details ?? '')).toMatchObject({ runId, name: file.name });
  });

  it('with HEAD returns the headers, and is not recorded', async () => {
    const { at, file } = await ran({ doc: FILE });
    const response = await api.fetch('HEAD', at);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-disposition')).toContain('abc.txt');
    expect(await response.text()).toBe('');
    expect(await store.audit.ofResource(file.id)).toEqual([]);
    expect(await api.fetch('HEAD', `${path}/runs/none/files/none`)).toMatchObject({ status: 404 });
    expect(await api.fetch('HEAD', at, { key: null })).toMatchObject({ status: 401 });
    const run = await api.fetch(
      'HEAD',
      at.replace(/\/files\/.*$/, '?includeOutput=true&includeFileBase64=true'),
    );
    expect([run.status, await run.text()]).toEqual([200, '']);
  });

  it('is allowed for readers and workspace keys', async () => {
    const { at } = await ran({ doc: FILE });
    const userId = await store.workspaces.createUser({ email: 'reader@heddle.test', name: 'Reader' });
    await store.workspaces.setMember(workspaceId, userId, 'read');
    const reader = await store.keys.create({ userId }, 'reader');
    const shared = await store.keys.create({ workspaceId }, 'shared');
    for (const { key } of [reader, shared]) expect((await api.fetch('GET', at, { key })).status).toBe(200);
  });

  it('is the same 404 for a file of another run, workflow or workspace', async () => {
    const mine = await ran({ doc: FILE });
    const other = await ran({ doc: FILE });
    const otherWorkflow = `/api/v2/workflows/${await api.deployed(ECHO)}`;
    const places = [
      `${path}/runs/${other.runId}/files/${mine.file.id}`,
      `${path}/runs/${mine.runId}/files/ghost`,
      `${path}/runs/${mine.runId}/files/${encodeURIComponent(mine.file.key)}`,
      `${path}/runs/ghost/files/${mine.file.id}`,
      `${otherWorkflow}/runs/${mine.runId}/files/${mine.file.id}`,
    ];
    for (const place of places) {
      const answer = await call('GET', place);
      expect([answer.status, errorIn(answer.body).message]).toEqual([404, 'File not found']);
    }
    const id = await store.workspaces.createWorkspace('Elsewhere', api.userId);
    const { key } = await store.keys.create({ workspaceId: id }, 'foreign');
    const hidden = await call('GET', mine.at, { key });
    expect([hidden.status, errorIn(hidden.body).message]).toEqual([404, 'Workflow not found']);
  });

  it('is 404 for a run that has no files, is paused or failed to start', async () => {
    const broken = `/api/v2/workflows/${await api.deployed(BROKEN)}`;
    const failed = await call<Ran>('POST', `${broken}/execute`, { body: {} });
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    await call('POST', `${path}/execute`, { headers, body: { input: { doc: { ...FILE, data: '' } } } });
    for (const run of [`${broken}/runs/${failed.data.runId}`, `${path}/runs/${headers['X-Run-Id']}`]) {
      expect(await call('GET', `${run}/files/x`)).toMatchObject({ status: 404 });
    }
  });

  it('does not trust a record that a workflow has forged', async () => {
    const forged = { id: 'made-up', name: 'a', size: 3, type: 'text/plain', key: `sha256:${'0'.repeat(64)}` };
    const { at } = await ran({ any: forged });
    expect(await call('GET', at)).toMatchObject({
      status: 404,
      body: { error: { message: 'File not found' } },
    });
    const run = at.replace(/\/files\/.*$/, '?includeOutput=true');
    expect(await call('GET', run)).toMatchObject({ data: { files: [{ id: 'made-up', size: 3 }] } });
    expect(await call('GET', `${run}&includeFileBase64=true`)).toMatchObject({ status: 404 });
    const shown = await call('POST', `${path}/execute`, { body: { input: { any: forged } } });
    expect(shown).toMatchObject({ status: 200, data: { output: { data: { any: forged } } } });
  });

  it('sanitizes the record for its headers', async () => {
    const { file } = await ran({ doc: FILE });
    const name = '../x"; filename="evil.exe\r\nSet-Cookie: a=b \uD800';
    const { at } = await ran({ any: { ...file, size: 1, name, type: 'text/html\r\nSet-Cookie: a=b' } });
    const response = await api.fetch('GET', at);
    expect([response.status, await response.text()]).toEqual([200, 'abc']);
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-length')).toBe('3');
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="[\w.() -]*"; filename\*=UTF-8''[\w.%!~-]*$/,
    );
  });
});
