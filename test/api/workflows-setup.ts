import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import { createTestApi, openStore } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';

export interface WorkflowResponse {
  id: string;
  name: string;
  description: string | null;
  folderPath: string;
  blocks: { id: string; type: string }[];
}

/** An API with functions that create and list workflows and folders. */
export interface WorkflowsApi extends TestApi {
  database: Kysely<unknown>;
  createWorkspace(): Promise<string>;
  createWorkflow(workspaceId: string, name: string, folderPath?: string): Promise<WorkflowResponse>;
  createFolder(workspaceId: string, path: string): Promise<number>;
  listFolderPaths(workspaceId: string, query?: string): Promise<string[]>;
  listWorkflowNames(workspaceId: string, query?: string): Promise<string[]>;
  listAuditActions(resourceId: string): Promise<string[]>;
}

export const WORKFLOWS_PATH = '/api/v2/workflows';
export const FOLDERS_PATH = `${WORKFLOWS_PATH}/folders`;

/** Starts an API on a new store of the service. */
export async function startWorkflowsApi(kind: 'sqlite' | 'postgres'): Promise<WorkflowsApi> {
  const store = await openStore(kind);
  const api = await createTestApi({ store });
  const { call } = api;
  return {
    ...api,
    database: store.database,
    createWorkspace: () => store.workspaces.createWorkspace('Other', api.userId),
    async createWorkflow(workspaceId, name, folderPath) {
      const { status, data } = await call<WorkflowResponse>('POST', WORKFLOWS_PATH, {
        body: { workspaceId, name, folderPath },
      });
      expect(status).toBe(201);
      return data;
    },
    createFolder: async (workspaceId, path) =>
      (await call('POST', FOLDERS_PATH, { body: { workspaceId, path } })).status,
    async listFolderPaths(workspaceId, query = '') {
      const { data } = await call<{ path: string }[]>(
        'GET',
        `${FOLDERS_PATH}?workspaceId=${workspaceId}${query}`,
      );
      return data.map(({ path }) => path);
    },
    async listWorkflowNames(workspaceId, query = '') {
      const { data } = await call<WorkflowResponse[]>(
        'GET',
        `${WORKFLOWS_PATH}?workspaceId=${workspaceId}${query}`,
      );
      return data.map(({ name }) => name);
    },
    listAuditActions: async (id) => (await store.audit.listByResource(id)).map(({ action }) => action),
  };
}
