import type { Json, JsonObject } from '@heddle/core';
import { parseKeys, Sealer } from '@heddle/service';
import { storeCredential } from '@heddle/service/credentials';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { REFERENCE_KINDS } from '../../packages/service/src/transfer/kinds.ts';
import { createBlock, createExportFile, IMPORT_PATH, PREVIEW_PATH, openTransferApi } from './setup.ts';
import type { ExportFile, TransferApi } from './setup.ts';
import { storesToTest } from '../support/postgres.ts';

/** For each kind of reference: the type of a block, and a field that refers to `theirs`. */
const BLOCKS_BY_KIND: { [kind: string]: [type: string, key: string, field: [string, Json]] } = {
  credential: ['gmail_v2', 'credential', ['oauth-input', 'theirs']],
  'env-var': ['api', 'url', ['short-input', 'https://{{theirs}}/']],
  'knowledge-base': ['x', 'knowledgeBaseId', ['knowledge-base-selector', 'theirs']],
  'knowledge-document': ['x', 'documentId', ['document-selector', 'theirs']],
  table: ['x', 'tableId', ['table-selector', 'theirs']],
  file: ['x', 'files', ['file-upload', [{ key: 'theirs' }]]],
  'mcp-server': ['x', 'server', ['mcp-server-selector', 'theirs']],
  'custom-tool': ['agent', 'tools', ['tool-input', [{ type: 'custom-tool', customToolId: 'theirs' }]]],
  'custom-block': ['custom', 'customBlockId', ['short-input', 'theirs']],
  skill: ['agent', 'skills', ['skill-input', [{ skillId: 'theirs' }]]],
  sandbox: ['function', 'sandboxId', ['dropdown', 'theirs']],
  workflow: ['x', 'workflowId', ['workflow-selector', 'theirs']],
};
const KINDS = REFERENCE_KINDS.map(({ kind }) => kind);
const FILE = createExportFile(
  KINDS.map((kind) => {
    const [type, key, field] = BLOCKS_BY_KIND[kind] as (typeof BLOCKS_BY_KIND)[string];
    return createBlock(kind, type, { [key]: field });
  }),
);

interface Preview {
  previewFingerprint: string;
  ready: boolean;
  unresolvedBindings: { kind: string; sourceId: string }[];
  discovery: { kind: string; command: string }[];
}

describe.each(storesToTest('kinds of references'))('references on %s', (name) => {
  let api: TransferApi;
  /** The id of a target in the workspace, by kind. Only for kinds whose resources the service stores. */
  let targetIds: { [kind: string]: string };

  beforeAll(async () => {
    api = await openTransferApi(name);
    const { workspaceId } = api;
    const database = api.store.database as Kysely<unknown>;
    await api.storeSecret(workspaceId, 'MINE');
    const sealer = new Sealer(parseKeys(Buffer.alloc(32, 1).toString('base64')));
    const material = { type: 'api_key', key: 'k'.repeat(8) } as const;
    const { credential } = await storeCredential(database, sealer, {
      ...{ workspaceId, name: 'mine', provider: 'openai', material },
    });
    await sql`insert into sandboxes (id, workspace_id, name, language, dependencies, cli_tools, system_packages, created_at,
        updated_at)
      values ('box', ${workspaceId}, 'box', 'python', '[]', '[]', '[]', '', '')`.execute(database);
    const workflow = await api.createDraft(createExportFile([]));
    const skill = await api.call<{ id: string }>('POST', '/api/v2/skills', {
      body: { workspaceId, name: 'mine', description: 'How to.', content: 'Do it.' },
    });
    const { id: skillId } = skill.data;
    targetIds = { credential: credential.id, 'env-var': 'MINE', sandbox: 'box', workflow, skill: skillId };
  });

  const post = <T>(path: string, body: object) =>
    api.call<T>('POST', path, { body: { workspaceId: api.workspaceId, workflow: FILE, ...body } });

  async function requestPreview(mappings: object[]): Promise<Preview> {
    const { status, data, body } = await post<Preview>(PREVIEW_PATH, { mappings });
    expect(status, JSON.stringify(body)).toBe(200);
    return data;
  }

  /** Imports FILE. Returns the value of the field of each block, by kind. */
  async function importFile(mappings: object[]): Promise<{ [kind: string]: Json }> {
    const { previewFingerprint } = await requestPreview(mappings);
    const request = { mappings, previewFingerprint, requestId: crypto.randomUUID() };
    const { status, data, body } = await post<{ id: string }>(IMPORT_PATH, request);
    expect(status, JSON.stringify(body)).toBe(201);
    const { data: state } = await api.call<ExportFile['state']>('GET', `/api/v2/workflows/${data.id}/state`);
    return Object.fromEntries(
      Object.values(state.blocks).map((block) => {
        const [value] = Object.values(block.subBlocks).map((field) => field.value);
        return [block.name.slice('Block '.length), value ?? null];
      }),
    );
  }

  const createMapping = (kind: string, targetId: string | null): JsonObject => ({
    kind,
    sourceId: 'theirs',
    targetId,
  });

  it('are all unresolved in the first preview, which names the requests that list possible targets', async () => {
    const { ready, unresolvedBindings, discovery } = await requestPreview([]);
    expect(ready).toBe(false);
    expect(unresolvedBindings.map(({ kind, sourceId }) => [kind, sourceId])).toEqual(
      KINDS.map((kind) => [kind, 'theirs']),
    );
    expect(discovery.map(({ kind }) => kind)).toEqual(KINDS.filter((kind) => kind in targetIds));
    for (const { command } of discovery) {
      const path = command.replace('GET ', '').replace('{workspaceId}', api.workspaceId);
      expect([path, (await api.call('GET', path)).status]).toEqual([path, 200]);
    }
  });

  it.each(KINDS)('of the kind %s can be cleared', async (kind) => {
    const { unresolvedBindings } = await requestPreview([createMapping(kind, null)]);
    expect(unresolvedBindings.map((unresolvedBinding) => unresolvedBinding.kind)).toEqual(
      KINDS.filter((otherKind) => otherKind !== kind),
    );
  });

  it('that the mappings clear are imported without the ids in the file', async () => {
    const values = await importFile(KINDS.map((kind) => createMapping(kind, null)));
    expect(Object.keys(values)).toEqual(KINDS);
    expect(JSON.stringify(values)).not.toContain('theirs');
  });

  it('are imported with the ids of mapped targets in the workspace', async () => {
    const values = await importFile(KINDS.map((kind) => createMapping(kind, targetIds[kind] ?? null)));
    const skills = [{ skillId: targetIds['skill'] }];
    expect(values).toMatchObject({ ...targetIds, 'env-var': 'https://{{MINE}}/', skill: skills });
  });

  it('do not resolve to a resource of another workspace', async () => {
    const workspaceId = await api.createWorkspace();
    const mappings = Object.entries(targetIds).map(([kind, id]) => createMapping(kind, id));
    const { data } = await api.call<Preview>('POST', PREVIEW_PATH, {
      body: { workspaceId, workflow: FILE, mappings },
    });
    expect(data.unresolvedBindings).toHaveLength(KINDS.length);
  });
});
