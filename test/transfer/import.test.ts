import { readdirSync, readFileSync } from 'node:fs';
import type { Json, JsonObject } from '@heddle/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn } from '../support/api.ts';
import { createBlock, createExportFile, IMPORT_PATH, PREVIEW_PATH, openTransferApi } from './setup.ts';
import type { ExportFile, Occurrence, TransferApi } from './setup.ts';
import { storesToTest } from '../support/postgres.ts';

interface Binding {
  kind: string;
  sourceId: string;
  targetId: string | null;
  required: boolean;
  occurrence: Occurrence;
}

interface Preview {
  previewFingerprint: string;
  ready: boolean;
  bindings: Binding[];
  unresolvedBindings: Binding[];
  discovery: { kind: string }[];
}

/** The result of an import. If the request has an id, the result includes the receipt (the record) of the import. */
interface ImportResult {
  id: string;
  name: string;
  description: string | null;
  folderPath: string;
  blocks: { id: string; type: string; name: string }[];
  warnings: string[];
  operationId?: string;
  requestId?: string;
  status?: string;
  idMap?: { [id: string]: string };
}

const CREDENTIAL_ID = '5f0c1e0a-9f5b-4a8e-8f5e-2f7d0c9b1a11';
/**
 * A workflow of another installation that refers to a workflow, a secret and a credential that this installation does
 * not have.
 */
const FOREIGN_WORKFLOW = createExportFile([
  createBlock('call', 'workflow', {
    workflowId: ['workflow-selector', 'theirs'],
    input: ['code', '{{THEIRS}}'],
  }),
  createBlock('mail', 'gmail_v2', { credential: ['oauth-input', CREDENTIAL_ID] }),
]);

let requestCount = 0;
const nextRequestId = (): string => `import-${(requestCount += 1)}`;

describe.each(storesToTest('imports'))('imports on %s', (name) => {
  let api: TransferApi;
  /** The id of a workflow that imported workflows can call. */
  let childId: string;

  beforeAll(async () => {
    api = await openTransferApi(name);
    childId = await api.createDraft(
      createExportFile([createBlock('x', 'function', { code: ['code', 'return 1'] })]),
    );
    await api.storeSecret(api.workspaceId, 'MINE');
  });

  const post = <T>(path: string, body: object, key = api.key) =>
    api.call<T>('POST', path, { body: { workspaceId: api.workspaceId, ...body }, key });

  /** Returns FOREIGN_WORKFLOW with mappings for all its references. */
  const createMappedBody = () => ({
    workflow: FOREIGN_WORKFLOW,
    mappings: [
      { kind: 'workflow', sourceId: 'theirs', targetId: childId },
      { kind: 'env-var', sourceId: 'THEIRS', targetId: 'MINE' },
      { kind: 'credential', sourceId: CREDENTIAL_ID, targetId: null },
    ],
  });

  async function requestPreview(body: object): Promise<Preview> {
    const { status, data, body: responseBody } = await post<Preview>(PREVIEW_PATH, body);
    expect(status, JSON.stringify(responseBody)).toBe(200);
    return data;
  }

  async function createPreviewedBody<T extends object>(body: T) {
    const { previewFingerprint } = await requestPreview(body);
    return { ...body, requestId: nextRequestId(), previewFingerprint };
  }

  async function fetchState(id: string): Promise<ExportFile['state']> {
    return (await api.call<ExportFile['state']>('GET', `/api/v2/workflows/${id}/state`)).data;
  }

  it('list the unresolved references of a file, bind no credential, and return no receipt', async () => {
    const { status, data } = await post<ImportResult>(IMPORT_PATH, { workflow: FOREIGN_WORKFLOW });
    expect(status).toBe(201);
    expect(data.warnings).toEqual([
      'Block call: workflowId refers to the workflow "theirs", which does not exist in this workspace',
      'Block call: input refers to the env-var "THEIRS", which does not exist in this workspace',
      'Block mail: credential was cleared by the export; set it before running',
    ]);
    expect(data.operationId).toBeUndefined();
    expect(data.blocks.map((block) => [block.type, block.name])).toEqual([
      ['workflow', 'Block call'],
      ['gmail_v2', 'Block mail'],
    ]);
    const text = JSON.stringify(await fetchState(data.id));
    expect(text).not.toContain(CREDENTIAL_ID);
    expect(text).not.toContain('"call"');
    expect(await api.readAuditActions(data.id)).toEqual(['WORKFLOW_IMPORTED']);
  });

  it('choose a free name, or use exactly the requested one', async () => {
    const file = createExportFile([], { workflow: { name: 'Twice', description: 'of the file' } });
    const firstImport = await post<ImportResult>(IMPORT_PATH, { workflow: file });
    const secondImport = await post<ImportResult>(IMPORT_PATH, {
      workflow: JSON.stringify(file),
      description: 'mine',
    });
    expect([firstImport.data.name, firstImport.data.description]).toEqual(['Twice', 'of the file']);
    expect([secondImport.data.name, secondImport.data.description]).toEqual(['Twice (2)', 'mine']);
    expect((await post(IMPORT_PATH, { workflow: file, name: 'Twice' })).status).toBe(409);
    const unnamedImport = await post<ImportResult>(IMPORT_PATH, { workflow: { blocks: {}, edges: [] } });
    expect(unnamedImport.data.name).toBe('Imported workflow');
    expect((await post(IMPORT_PATH, { workflow: file, folderPath: '/none' })).status).toBe(404);
    expect((await post(PREVIEW_PATH, { workflow: file, folderPath: '/none' })).status).toBe(404);
  });

  it('are previewed without writing', async () => {
    const countWorkflows = async () =>
      (await api.call<unknown[]>('GET', `/api/v2/workflows?workspaceId=${api.workspaceId}&limit=100`)).data
        .length;
    const countBefore = await countWorkflows();
    const preview = await requestPreview({ workflow: FOREIGN_WORKFLOW });
    expect(preview.ready).toBe(false);
    expect(
      preview.unresolvedBindings.map(({ kind, sourceId, targetId }) => [kind, sourceId, targetId]),
    ).toEqual([
      ['workflow', 'theirs', null],
      ['env-var', 'THEIRS', null],
      ['credential', CREDENTIAL_ID, null],
    ]);
    expect(preview.discovery.map(({ kind }) => kind)).toEqual(['credential', 'env-var', 'workflow']);
    const readyPreview = await requestPreview(createMappedBody());
    expect([readyPreview.ready, readyPreview.unresolvedBindings]).toEqual([true, []]);
    expect(await countWorkflows()).toBe(countBefore);
  });

  it('import the previewed workflow and return a receipt', async () => {
    const request = await createPreviewedBody(createMappedBody());
    const { status, data } = await post<ImportResult>(IMPORT_PATH, request);
    expect(status).toBe(201);
    expect(data).toMatchObject({
      ...{ requestId: request.requestId, kind: 'workflow_import', applied: true, resourceIds: [data.id] },
    });
    const { blocks } = await fetchState(data.id);
    const importedIdOf = (oldId: string) => data.idMap?.[oldId] ?? '';
    expect(blocks[importedIdOf('call')]?.subBlocks['workflowId']?.value).toBe(childId);
    expect(blocks[importedIdOf('call')]?.subBlocks['input']?.value).toBe('{{MINE}}');
    expect(blocks[importedIdOf('mail')]?.subBlocks['credential']?.value).toBeNull();
    const receiptResponse = await api.call<ImportResult>(
      'GET',
      `/api/v2/workspaces/${api.workspaceId}/operations/${data.operationId}`,
    );
    const { id: _id, name: _name, blocks: _blocks, warnings: _warnings, ...rest } = data;
    expect(rest).toMatchObject({ ...receiptResponse.data, workspaceId: api.workspaceId });
  });

  it('map references that an export has cleared, by the manifest of the export', async () => {
    const sourceId = await api.createDraft(
      createExportFile([createBlock('call', 'workflow', { workflowId: ['workflow-selector', childId] })]),
    );
    const workflow = await api.exportWorkflow(sourceId, '?includeReferences=true');
    expect(JSON.stringify(workflow.state)).not.toContain(childId);
    const unmappedImport = await post<ImportResult>(IMPORT_PATH, { workflow });
    expect(unmappedImport.data.warnings).toEqual([
      'Block call: workflowId was cleared by the export; set it before running',
    ]);
    const otherWorkspaceId = await api.createWorkspace();
    const targetResponse = await api.call<{ id: string }>('POST', '/api/v2/workflows', {
      body: { workspaceId: otherWorkspaceId, name: 'Child' },
    });
    const body = {
      ...{ workspaceId: otherWorkspaceId, workflow },
      mappings: [{ kind: 'workflow', sourceId: childId, targetId: targetResponse.data.id }],
    };
    const { data } = await post<ImportResult>(IMPORT_PATH, await createPreviewedBody(body));
    expect(data).toMatchObject({ status: 'completed', warnings: [] });
    const [callBlock] = Object.values((await fetchState(data.id)).blocks);
    expect(callBlock?.subBlocks['workflowId']?.value).toBe(targetResponse.data.id);
  });

  it('keep exported references in the same workspace, and warn about them in another workspace', async () => {
    const sourceId = await api.createDraft(
      createExportFile([createBlock('call', 'workflow', { workflowId: ['workflow-selector', childId] })]),
    );
    const workflow = await api.exportWorkflow(sourceId, '?includeWorkspaceBindings=true');
    const sameWorkspaceImport = await post<ImportResult>(IMPORT_PATH, { workflow });
    expect(sameWorkspaceImport.data.warnings).toEqual([]);
    const otherWorkspaceImport = await post<ImportResult>(IMPORT_PATH, {
      workspaceId: await api.createWorkspace(),
      workflow,
    });
    expect(otherWorkspaceImport.data.warnings).toHaveLength(1);
  });

  it('return the first receipt for a repeated request, even after a mapped target was deleted, and add no workflow', async () => {
    const targetId = await api.createDraft(createExportFile([]));
    const body = createMappedBody();
    body.mappings[0]!.targetId = targetId;
    const request = await createPreviewedBody(body);
    const firstResponse = await post<ImportResult>(IMPORT_PATH, request);
    await api.call('DELETE', `/api/v2/workflows/${targetId}`);
    const repeatedResponse = await post<ImportResult>(IMPORT_PATH, request);
    expect([repeatedResponse.status, repeatedResponse.data]).toEqual([201, firstResponse.data]);
    expect(await api.readAuditActions(firstResponse.data.id)).toEqual(['WORKFLOW_IMPORTED']);
  });

  it('create one workflow for several concurrent calls with the same request id', async () => {
    const request = await createPreviewedBody(createMappedBody());
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => post<ImportResult>(IMPORT_PATH, request)),
    );
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(responses.map(({ data }) => data.id)).size).toBe(1);
  });

  it('are refused for a stale preview, unresolved references, and a request id that another request has used', async () => {
    const targetId = await api.createDraft(createExportFile([]));
    const body = createMappedBody();
    body.mappings[0]!.targetId = targetId;
    const request = await createPreviewedBody(body);
    const otherRequest = { ...request, previewFingerprint: '0'.repeat(64), requestId: nextRequestId() };
    const wrongFingerprintResponse = await post(IMPORT_PATH, otherRequest);
    expect([wrongFingerprintResponse.status, errorIn(wrongFingerprintResponse.body).details?.code]).toEqual([
      409,
      'PREVIEW_STALE',
    ]);
    await api.call('DELETE', `/api/v2/workflows/${targetId}`);
    const staleResponse = await post(IMPORT_PATH, request);
    expect([staleResponse.status, errorIn(staleResponse.body).details?.code]).toEqual([409, 'PREVIEW_STALE']);
    const unreadyResponse = await post(
      IMPORT_PATH,
      await createPreviewedBody({ workflow: FOREIGN_WORKFLOW, mappings: [] }),
    );
    expect([unreadyResponse.status, errorIn(unreadyResponse.body).details?.code]).toEqual([
      409,
      'IMPORT_NOT_READY',
    ]);
    const acceptedRequest = await createPreviewedBody(createMappedBody());
    expect((await post(IMPORT_PATH, acceptedRequest)).status).toBe(201);
    expect((await post(IMPORT_PATH, { ...acceptedRequest, name: 'Another' })).status).toBe(409);
  });

  it.each([
    [{ mappings: [] }, 'Mapped imports require requestId'],
    [{ bindings: [] }, 'Mapped imports require requestId'],
    [{ dependentValues: [] }, 'Mapped imports require requestId'],
    [{ previewFingerprint: '0'.repeat(64) }, 'Mapped imports require requestId'],
    [{ requestId: 'r' }, 'Mapped imports require previewFingerprint'],
  ])('with %j are refused: %s', async (options, message) => {
    const { status, body } = await post(IMPORT_PATH, { workflow: FOREIGN_WORKFLOW, ...options });
    expect([status, errorIn(body).message]).toEqual([400, message]);
  });

  it('report ids of other workspaces like unknown ids', async () => {
    const otherWorkspaceId = await api.createWorkspace();
    const { data } = await api.call<{ id: string }>('POST', '/api/v2/workflows', {
      body: { workspaceId: otherWorkspaceId, name: 'X' },
    });
    await api.storeSecret(otherWorkspaceId, 'HIDDEN');
    const createBodyWithTargets = (workflowId: string, secretName: string) => ({
      workflow: FOREIGN_WORKFLOW,
      mappings: [
        { kind: 'workflow', sourceId: 'theirs', targetId: workflowId },
        { kind: 'env-var', sourceId: 'THEIRS', targetId: secretName },
      ],
    });
    const foreignPreview = await requestPreview(createBodyWithTargets(data.id, 'HIDDEN'));
    const unknownPreview = await requestPreview(createBodyWithTargets(crypto.randomUUID(), 'ABSENT'));
    expect({ ...foreignPreview, previewFingerprint: '' }).toEqual({
      ...unknownPreview,
      previewFingerprint: '',
    });
    expect(foreignPreview.unresolvedBindings).toHaveLength(3);
  });

  it('require the role write, and are hidden from users outside the workspace', async () => {
    const readerKey = await api.createMemberKey(api.workspaceId, 'read');
    const strangerKey = await api.createMemberKey(await api.createWorkspace(), 'admin');
    for (const path of [IMPORT_PATH, PREVIEW_PATH]) {
      expect((await post(path, { workflow: FOREIGN_WORKFLOW }, readerKey)).status).toBe(403);
      expect((await post(path, { workflow: FOREIGN_WORKFLOW }, strangerKey)).status).toBe(404);
    }
  });

  it('cannot bind credentials with a workspace key', async () => {
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    const mappings = [{ kind: 'credential', sourceId: CREDENTIAL_ID, targetId: 'c' }];
    const refusedResponse = await post(PREVIEW_PATH, { workflow: FOREIGN_WORKFLOW, mappings }, key);
    expect([refusedResponse.status, errorIn(refusedResponse.body).details?.code]).toEqual([
      403,
      'WORKSPACE_KEY_OPERATION_NOT_PERMITTED',
    ]);
    expect((await post(PREVIEW_PATH, createMappedBody(), key)).status).toBe(200);
    expect((await post(IMPORT_PATH, { workflow: FOREIGN_WORKFLOW }, key)).status).toBe(201);
  });

  it('show receipts only to members of the workspace, newest first and in pages', async () => {
    const workspaceId = await api.createWorkspace();
    const operationsPath = `/api/v2/workspaces/${workspaceId}/operations`;
    const ids: string[] = [];
    for (const workflow of [createExportFile([]), createExportFile([]), createExportFile([])]) {
      const body = await (async () => {
        const request = { workspaceId, workflow, mappings: [] };
        return { ...request, ...(await createPreviewedBody(request)) };
      })();
      ids.unshift((await post<ImportResult>(IMPORT_PATH, body)).data.operationId ?? '');
    }
    const firstPage = await api.call<ImportResult[]>('GET', `${operationsPath}?limit=2`);
    const { nextCursor } = firstPage.body as { nextCursor: string };
    const secondPage = await api.call<ImportResult[]>(
      'GET',
      `${operationsPath}?limit=2&cursor=${nextCursor}`,
    );
    const receipts = [...firstPage.data, ...secondPage.data];
    expect(new Set(receipts.map(({ operationId }) => operationId))).toEqual(new Set(ids));
    const [receipt] = receipts;
    const matchingResponse = await api.call<ImportResult[]>(
      'GET',
      `${operationsPath}?requestId=${receipt?.requestId}`,
    );
    expect(matchingResponse.data.map(({ operationId }) => operationId)).toEqual([receipt?.operationId]);
    // A cursor of one workspace is not valid in another workspace.
    const otherPath = `/api/v2/workspaces/${api.workspaceId}/operations`;
    expect((await api.call('GET', `${otherPath}?limit=2&cursor=${nextCursor}`)).status).toBe(400);
    expect((await api.call('GET', `${otherPath}/${receipt?.operationId}`)).status).toBe(404);
    const strangerKey = await api.createMemberKey(await api.createWorkspace(), 'admin');
    for (const path of [operationsPath, `${operationsPath}/${receipt?.operationId}`])
      expect((await api.call('GET', path, { key: strangerKey })).status).toBe(404);
  });

  it('accept the same request id in two workspaces', async () => {
    const workspaceId = await api.createWorkspace();
    const request = await createPreviewedBody({ workflow: createExportFile([]), mappings: [] });
    expect((await post<ImportResult>(IMPORT_PATH, request)).status).toBe(201);
    const preview = await requestPreview({ workspaceId, workflow: createExportFile([]), mappings: [] });
    const unknownKeysResponse = await post<ImportResult>(IMPORT_PATH, {
      ...request,
      ...preview,
      workspaceId,
    } as object);
    expect(unknownKeysResponse.status).toBe(400);
    const { previewFingerprint } = preview;
    const secondResponse = await post<ImportResult>(IMPORT_PATH, {
      ...request,
      workspaceId,
      previewFingerprint,
    });
    expect(secondResponse.status).toBe(201);
  });

  const nestedArrays = '['.repeat(5000) + ']'.repeat(5000);
  it.each([
    ['invalid JSON', '{'],
    ['an array', '[]'],
    ['an object without a graph', {}],
    ['JSON that is nested too deeply', `{"blocks":{},"edges":[],"x":${nestedArrays}}`],
    ['JSON with too many values', `{"blocks":{},"edges":[],"x":[${'0,'.repeat(500_001)}0]}`],
    ['blocks without a type', { blocks: { a: { name: 'x' } }, edges: [] }],
    ['a name that is too long', { blocks: { a: { type: 'x', name: 'n'.repeat(300) } }, edges: [] }],
    ['a block with the id __proto__', '{"blocks":{"__proto__":{"type":"a","name":"b"}},"edges":[]}'],
    ['an invalid manifest', { blocks: {}, edges: [], referenceManifest: { version: 9 } }],
  ] as [string, Json][])('refuse %s with 400', async (_, workflow) => {
    for (const path of [IMPORT_PATH, PREVIEW_PATH]) {
      const { status, body } = await post(path, { workflow });
      expect([status, errorIn(body).code]).toEqual([400, 'BAD_REQUEST']);
    }
  });

  it('remove NUL from names, and replace unpaired surrogates', async () => {
    const file = createExportFile([], { workflow: { name: 'a\u0000b\ud800', description: '\u0000' } });
    const { status, data } = await post<ImportResult>(IMPORT_PATH, { workflow: JSON.stringify(file) });
    expect([status, data.name]).toEqual([201, 'ab\ufffd']);
  });
});

/** Returns the state of an export with numbered ids, because ids differ between installations. */
function replaceIds({ state }: ExportFile): Json {
  const ids = [
    ...Object.keys(state.blocks),
    ...state.edges.map(({ id }) => id),
    ...Object.keys(state.variables),
  ];
  let text = JSON.stringify(state);
  for (const [index, id] of ids.entries()) text = text.replaceAll(id, `id-${index}`);
  return JSON.parse(text) as Json;
}

describe('an export that is imported and exported again', () => {
  const folder = new URL('../fixtures/exported/', import.meta.url);
  const fixtures = readdirSync(folder)
    .filter((name) => /-[0-9a-f]{12}\.json$/.test(name))
    .map((name): [string, URL] => [name, new URL(name, folder)]);
  const workflowFolder = process.env['HEDDLE_WORKFLOWS'];
  const otherFiles = (workflowFolder === undefined ? [] : readdirSync(workflowFolder))
    .filter((name) => name.endsWith('.json'))
    .map((name): [string, URL] => [name, new URL(`file://${workflowFolder}/${name}`)]);

  it.each([...fixtures, ...otherFiles])('is the same except for ids: %s', async (_, file) => {
    const api = await openTransferApi('sqlite');
    const { workspaceId } = api;
    const workflow = JSON.parse(readFileSync(file, 'utf8')) as JsonObject;
    const firstImport = await api.call<ImportResult>('POST', IMPORT_PATH, {
      body: { workspaceId, workflow },
    });
    expect(firstImport.status, JSON.stringify(firstImport.body)).toBe(201);
    const firstExport = await api.exportWorkflow(firstImport.data.id, '?includeReferences=true');
    const secondImport = await api.call<ImportResult>('POST', IMPORT_PATH, {
      body: { workspaceId: await api.createWorkspace(), workflow: firstExport },
    });
    const secondExport = await api.exportWorkflow(secondImport.data.id, '?includeReferences=true');
    expect(replaceIds(secondExport)).toEqual(replaceIds(firstExport));
    expect(Object.keys(secondExport.state.blocks)).toHaveLength(
      Object.keys((workflow['state'] as JsonObject)['blocks'] as JsonObject).length,
    );
  });
});
