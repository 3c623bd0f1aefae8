import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../../../../../test/support/api.ts';
import { FAILING_WORKFLOW } from '../../../../../test/support/api-workflows.ts';
import { ECHO_WORKFLOW, FILE } from '../../../../../test/support/api-files.ts';

const api = await createTestApi();
const { call, store, workspaceId } = api;
const path = `/api/v2/workflows/${await api.deploy(ECHO_WORKFLOW)}`;

interface RunResult {
  runId: string;
  output: { data: Json };
}

/** Runs the workflow with this input. Returns the file of its output, the path of its download, and the run id. */
async function runWithFile(input: { [key: string]: Json }) {
  const { data } = await call<RunResult>('POST', `${path}/execute`, {
    body: { input, includeFileBase64: false },
  });
  const [file] = filesIn(data.output.data);
  if (!file) throw new Error('There is no file.');
  const { runId } = data;
  return { file, filePath: `${path}/runs/${runId}/files/${encodeURIComponent(file.id)}`, runId };
}

describe('the download of a file', () => {
  it('returns its bytes as an attachment, and is recorded', async () => {
    const { filePath, file, runId } = await runWithFile({ doc: { ...FILE, name: 'Übersicht "1".txt' } });
    const response = await api.fetch('GET', filePath);
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
    expect(await store.audit.listByResource(file.id)).toMatchObject([
      {
        action: 'FILE_DOWNLOADED',
        workspace_id: workspaceId,
        user_id: api.userId,
        resource_type: 'run_file',
      },
    ]);
    const [event] = await store.audit.listByResource(file.id);
    expect(JSON.parse(event?.details ?? '')).toMatchObject({ runId, name: file.name });
  });

  it('with HEAD returns the headers, and is not recorded', async () => {
    const { filePath, file } = await runWithFile({ doc: FILE });
    const response = await api.fetch('HEAD', filePath);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-disposition')).toContain('abc.txt');
    expect(await response.text()).toBe('');
    expect(await store.audit.listByResource(file.id)).toEqual([]);
    expect(await api.fetch('HEAD', `${path}/runs/none/files/none`)).toMatchObject({ status: 404 });
    expect(await api.fetch('HEAD', filePath, { key: null })).toMatchObject({ status: 401 });
    const runResponse = await api.fetch(
      'HEAD',
      filePath.replace(/\/files\/.*$/, '?includeOutput=true&includeFileBase64=true'),
    );
    expect([runResponse.status, await runResponse.text()]).toEqual([200, '']);
  });

  it('is allowed for readers and workspace keys', async () => {
    const { filePath } = await runWithFile({ doc: FILE });
    const userId = await store.workspaces.createUser({ email: 'reader@heddle.test', name: 'Reader' });
    await store.workspaces.setMember(workspaceId, userId, 'read');
    const readerKey = await store.keys.create({ userId }, 'reader');
    const workspaceKey = await store.keys.create({ workspaceId }, 'shared');
    for (const { key } of [readerKey, workspaceKey])
      expect((await api.fetch('GET', filePath, { key })).status).toBe(200);
  });

  it('returns the same 404 for a file of another run, workflow or workspace', async () => {
    const ownRun = await runWithFile({ doc: FILE });
    const otherRun = await runWithFile({ doc: FILE });
    const otherWorkflowPath = `/api/v2/workflows/${await api.deploy(ECHO_WORKFLOW)}`;
    const wrongPaths = [
      `${path}/runs/${otherRun.runId}/files/${ownRun.file.id}`,
      `${path}/runs/${ownRun.runId}/files/ghost`,
      `${path}/runs/${ownRun.runId}/files/${encodeURIComponent(ownRun.file.key)}`,
      `${path}/runs/ghost/files/${ownRun.file.id}`,
      `${otherWorkflowPath}/runs/${ownRun.runId}/files/${ownRun.file.id}`,
    ];
    for (const wrongPath of wrongPaths) {
      const response = await call('GET', wrongPath);
      expect([response.status, errorIn(response.body).message]).toEqual([404, 'File not found']);
    }
    const id = await store.workspaces.createWorkspace('Elsewhere', api.userId);
    const { key } = await store.keys.create({ workspaceId: id }, 'foreign');
    const refusal = await call('GET', ownRun.filePath, { key });
    expect([refusal.status, errorIn(refusal.body).message]).toEqual([404, 'Workflow not found']);
  });

  it('returns 404 for a run that failed, or failed to start', async () => {
    const brokenPath = `/api/v2/workflows/${await api.deploy(FAILING_WORKFLOW)}`;
    const failedRun = await call<RunResult>('POST', `${brokenPath}/execute`, { body: {} });
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    await call('POST', `${path}/execute`, { headers, body: { input: { doc: { ...FILE, data: '' } } } });
    for (const runPath of [
      `${brokenPath}/runs/${failedRun.data.runId}`,
      `${path}/runs/${headers['X-Run-Id']}`,
    ]) {
      expect(await call('GET', `${runPath}/files/x`)).toMatchObject({ status: 404 });
    }
  });

  it('does not trust a record that a workflow has forged', async () => {
    const key = `sha256:${'0'.repeat(64)}`;
    const forgedRecord = { id: 'made-up', name: 'a', size: 3, type: 'text/plain', key };
    const { filePath } = await runWithFile({ any: forgedRecord });
    expect(await call('GET', filePath)).toMatchObject({
      status: 404,
      body: { error: { message: 'File not found' } },
    });
    const runPath = filePath.replace(/\/files\/.*$/, '?includeOutput=true');
    expect(await call('GET', runPath)).toMatchObject({ data: { files: [{ id: 'made-up', size: 3 }] } });
    expect(await call('GET', `${runPath}&includeFileBase64=true`)).toMatchObject({ status: 404 });
    const result = await call('POST', `${path}/execute`, { body: { input: { any: forgedRecord } } });
    expect(result).toMatchObject({ status: 200, data: { output: { data: { any: forgedRecord } } } });
  });

  it('sanitizes the file record for the response headers', async () => {
    const { file } = await runWithFile({ doc: FILE });
    const name = '../x"; filename="evil.exe\r\nSet-Cookie: a=b \uD800';
    const { filePath } = await runWithFile({
      any: { ...file, size: 1, name, type: 'text/html\r\nSet-Cookie: a=b' },
    });
    const response = await api.fetch('GET', filePath);
    expect([response.status, await response.text()]).toEqual([200, 'abc']);
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-length')).toBe('3');
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="[\w.() -]*"; filename\*=UTF-8''[\w.%!~-]*$/,
    );
  });
});
