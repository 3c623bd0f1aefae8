import type { Json, JsonObject } from '@heddle/core';
import { parseKeys, openServiceStore, Sealer, setStoredSecret } from '@heddle/service';
import { createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { createPostgresDatabase } from '../support/postgres.ts';

export const IMPORT_PATH = '/api/v2/workflows/import';
export const PREVIEW_PATH = `${IMPORT_PATH}/preview`;

export interface Occurrence {
  blockId: string;
  subBlockKey: string;
  valuePath: (string | number)[];
  positions?: number[];
  encoding: string;
}

export interface ExportFile {
  version: string;
  representation: string;
  exportedAt: string;
  workflow: { id: string; name: string; description: string | null; workspaceId: string; folderPath: string };
  state: {
    blocks: { [id: string]: { name: string; subBlocks: { [key: string]: { value: Json } } } };
    edges: { id: string; source: string; target: string }[];
    loops: JsonObject;
    parallels: JsonObject;
    variables: JsonObject;
  };
  warnings: string[];
  referenceManifest?: {
    version: number;
    references: { kind: string; sourceId: string; required: boolean; occurrences: Occurrence[] }[];
  };
}

export interface TransferApi extends TestApi {
  /** Creates another workspace of the same user. Returns its id. */
  createWorkspace(): Promise<string>;
  /** Creates a user with this role in the workspace. Returns an API key of the user. */
  createMemberKey(workspaceId: string, role: 'read' | 'write' | 'admin'): Promise<string>;
  exportWorkflow(workflowId: string, query?: string): Promise<ExportFile>;
  /** Returns the actions on the resource in the audit log. */
  readAuditActions(resourceId: string): Promise<string[]>;
  storeSecret(workspaceId: string, name: string): Promise<void>;
}

/** Returns a block in the workflow format. */
export function createBlock(
  id: string,
  type: string,
  fields: { [key: string]: [type: string, value: Json] },
): JsonObject {
  const subBlocks = Object.entries(fields).map(([key, [fieldType, value]]) => [
    key,
    { id: key, type: fieldType, value },
  ]);
  const position = { x: 0, y: 0 };
  return {
    id,
    type,
    name: `Block ${id}`,
    position,
    subBlocks: Object.fromEntries(subBlocks) as JsonObject,
    outputs: {},
    enabled: true,
  };
}

/** Returns an exported file with these blocks. */
export function createExportFile(blocks: JsonObject[], properties: JsonObject = {}): JsonObject {
  const blocksById = Object.fromEntries(blocks.map((block) => [block['id'], block])) as JsonObject;
  return {
    version: '1.0',
    workflow: { name: 'Imported' },
    state: { blocks: blocksById, edges: [], variables: {} },
    ...properties,
  };
}

/** Returns a test API on this database, with helpers for exports and imports. */
export async function openTransferApi(name: 'sqlite' | 'postgres'): Promise<TransferApi> {
  const secret = 'x'.repeat(32);
  const url = name === 'postgres' ? await createPostgresDatabase() : undefined;
  const store = await openServiceStore(url === undefined ? {} : { postgres: { url }, secret });
  const api = await createTestApi({ store });
  const sealer = new Sealer(parseKeys(Buffer.alloc(32, 1).toString('base64')));
  return {
    ...api,
    createWorkspace: () => store.workspaces.createWorkspace('Other', api.userId),
    async createMemberKey(workspaceId, role) {
      const userId = await store.workspaces.createUser({ email: `${crypto.randomUUID()}@x.test`, name: 'B' });
      await store.workspaces.setMember(workspaceId, userId, role);
      return (await store.keys.create({ userId }, 'member')).key;
    },
    async exportWorkflow(workflowId, query = '') {
      const { status, data, body } = await api.call<ExportFile>(
        'GET',
        `/api/v2/workflows/${workflowId}/export${query}`,
      );
      if (status !== 200) throw new Error(JSON.stringify(body));
      return data;
    },
    readAuditActions: async (id) => (await store.audit.listByResource(id)).map(({ action }) => action),
    async storeSecret(workspaceId, secretName) {
      await setStoredSecret(store.database, sealer, { workspaceId, name: secretName, value: 'v' });
    },
  };
}
