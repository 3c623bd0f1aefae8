import { readdirSync, readFileSync } from 'node:fs';
import type { JsonObject } from '@heddle/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn } from '../support/api.ts';
import { createBlock, createExportFile, openTransferApi } from './setup.ts';
import type { TransferApi } from './setup.ts';
import { storesToTest } from '../support/postgres.ts';

const SECRET = 'sk-live-0123456789abcdef0123456789abcdef';
const CREDENTIAL_ID = '5f0c1e0a-9f5b-4a8e-8f5e-2f7d0c9b1a11';

/** A block with a secret in each position where a draft can have secrets, and a block with references. */
const EXPORT_FILE = createExportFile([
  createBlock('mail', 'gmail_v2', {
    credential: ['oauth-input', CREDENTIAL_ID],
    apiKey: ['short-input', SECRET],
    body: ['long-input', `curl -H "Authorization: Bearer ${SECRET}"`],
    headers: ['table', [{ id: '1', cells: { Key: 'Authorization', Value: SECRET } }]],
    label: ['folder-selector', 'INBOX'],
    tools: [
      'tool-input',
      [{ type: 'slack', params: { credential: CREDENTIAL_ID, apiKey: SECRET, text: '{{HI}}' } }],
    ],
  }),
  createBlock('child', 'workflow', {
    workflowId: ['workflow-selector', 'other-workflow'],
    input: ['code', '{{HI}} {{HI}}'],
  }),
]);

describe.each(storesToTest('exports'))('exports on %s', (name) => {
  let api: TransferApi;

  beforeAll(async () => {
    api = await openTransferApi(name);
  });

  it('contain the workflow without secrets, and list the cleared fields', async () => {
    const id = await api.createDraft(EXPORT_FILE);
    const file = await api.exportWorkflow(id);
    expect(file).toMatchObject({
      version: '1.0',
      representation: 'portable-export',
      workflow: { id, workspaceId: api.workspaceId, folderPath: '/', description: null },
    });
    expect(Object.keys(file.state)).toEqual(['blocks', 'edges', 'loops', 'parallels', 'variables']);
    expect(file.referenceManifest).toBeUndefined();
    const text = JSON.stringify(file);
    for (const secret of [SECRET, CREDENTIAL_ID, 'INBOX', 'other-workflow'])
      expect(text).not.toContain(secret);
    expect(text).toContain('{{HI}}');
    expect(file.warnings).toContain('Block mail: credential was cleared.');
  });

  it('list the references of the workflow, including those in tools, if the manifest is requested', async () => {
    const id = await api.createDraft(EXPORT_FILE);
    const file = await api.exportWorkflow(id, '?includeReferences=true');
    const references = file.referenceManifest?.references ?? [];
    expect(file.referenceManifest?.version).toBe(1);
    expect(references.map(({ kind, sourceId, occurrences }) => [kind, sourceId, occurrences.length])).toEqual(
      [
        ['credential', CREDENTIAL_ID, 2],
        ['env-var', 'HI', 2],
        ['workflow', 'other-workflow', 1],
      ],
    );
    expect(JSON.stringify(file)).not.toContain(SECRET);
  });

  it('keep selected resources of the workspace only on request, and never credentials', async () => {
    const id = await api.createDraft(EXPORT_FILE);
    const text = JSON.stringify(await api.exportWorkflow(id, '?includeWorkspaceBindings=true'));
    expect(text).toContain('INBOX');
    expect(text).toContain('other-workflow');
    for (const secret of [SECRET, CREDENTIAL_ID]) expect(text).not.toContain(secret);
  });

  it('do not list a password that was typed into a credential field', async () => {
    const block = createBlock('b', 'x', {
      manualCredential: ['short-input', 'hunter2'],
      credential: ['short-input', SECRET],
    });
    const id = await api.createDraft(createExportFile([block]));
    const text = JSON.stringify(await api.exportWorkflow(id, '?includeReferences=true'));
    for (const secret of ['hunter2', SECRET]) expect(text).not.toContain(secret);
  });

  it('are recorded in the audit log, except requests with HEAD', async () => {
    const id = await api.createDraft(EXPORT_FILE);
    const headResponse = await api.fetch('HEAD', `/api/v2/workflows/${id}/export`);
    expect([headResponse.status, await headResponse.text()]).toEqual([200, '']);
    const actionCount = (await api.readAuditActions(id)).length;
    await api.exportWorkflow(id);
    const actions = await api.readAuditActions(id);
    expect(actions).toHaveLength(actionCount + 1);
    expect(actions.filter((action) => action === 'WORKFLOW_EXPORTED')).toHaveLength(1);
  });

  it('of archived workflows and of workflows of other workspaces are refused like those of unknown workflows', async () => {
    const id = await api.createDraft(EXPORT_FILE);
    const strangerKey = await api.createMemberKey(await api.createWorkspace(), 'admin');
    const foreignResponse = await api.call('GET', `/api/v2/workflows/${id}/export`, { key: strangerKey });
    const unknownResponse = await api.call('GET', '/api/v2/workflows/none/export', { key: strangerKey });
    expect([foreignResponse.status, foreignResponse.body]).toEqual([404, unknownResponse.body]);
    const headResponse = await api.fetch('HEAD', `/api/v2/workflows/${id}/export`, { key: strangerKey });
    expect(headResponse.status).toBe(404);
    await api.call('DELETE', `/api/v2/workflows/${id}`);
    expect((await api.call('GET', `/api/v2/workflows/${id}/export`)).status).toBe(404);
  });

  it('require the role read, and refuse unknown query parameters', async () => {
    const id = await api.createDraft(EXPORT_FILE);
    const readerKey = await api.createMemberKey(api.workspaceId, 'read');
    expect((await api.call('GET', `/api/v2/workflows/${id}/export`, { key: readerKey })).status).toBe(200);
    const unknownParameterResponse = await api.call('GET', `/api/v2/workflows/${id}/export?all=true`);
    expect([unknownParameterResponse.status, errorIn(unknownParameterResponse.body).code]).toEqual([
      400,
      'BAD_REQUEST',
    ]);
  });
});

describe('the export of an imported file', () => {
  const folder = new URL('../fixtures/exported/', import.meta.url);
  const files = readdirSync(folder).filter((name) => /-[0-9a-f]{12}\.json$/.test(name));

  it.each(files)('has the blocks, fields and edges of the file: %s', async (name) => {
    const api = await openTransferApi('sqlite');
    const file = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as JsonObject;
    const { state } = await api.exportWorkflow(await api.createDraft(file));
    const originalState = file['state'] as unknown as typeof state;
    const listBlockFields = ({ blocks }: typeof state) =>
      Object.values(blocks).map((block) => [block.name, Object.keys(block.subBlocks)]);
    expect(listBlockFields(state)).toEqual(listBlockFields(originalState));
    expect(state.edges).toHaveLength(originalState.edges.length);
  });
});
