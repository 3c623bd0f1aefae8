import { randomUUID } from 'node:crypto';
import { ApiError } from '@heddle/api';
import {
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import type { Catalog } from './catalog.ts';
import type { ConnectorTypes } from './connectors.ts';
import type { Tools } from './tools.ts';
import * as schemas from './schemas.ts';

/** Dependencies of the operations of the catalog. */
export interface CatalogServices {
  catalog: Catalog;
  tools: Tools;
  connectorTypes: ConnectorTypes;
}

const defineOperation = operationFactory<CatalogServices>();
const READ_FIELDS = {
  tag: 'Catalog',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const WORKSPACE_RESOURCE = { resource: workspace('query') } as const;
const positionCodec = cursorCodec(schemas.position);

export const listBlocks = defineOperation({
  ...READ_FIELDS,
  ...WORKSPACE_RESOURCE,
  id: 'listBlocks',
  method: 'GET',
  path: '/api/v2/blocks',
  summary: 'List the block types',
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.blockSummary, isPage: true, description: 'A page of types' }],
  errors: [400, 401, 403, 404, 429],
  async handle({ catalog }, { query }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const { page, next } = await catalog.list({ ...query, afterPosition });
    return { page, nextCursor: positionCodec.encode(next, query) };
  },
});

export const getBlock = defineOperation({
  ...READ_FIELDS,
  ...WORKSPACE_RESOURCE,
  id: 'getBlock',
  method: 'GET',
  path: '/api/v2/blocks/{blockId}',
  summary: 'Get a block type with its fields and outputs',
  params: schemas.blockPath,
  query: schemas.workspaceQuery,
  success: [{ status: 200, schema: schemas.blockDetail, description: 'The type' }],
  errors: [400, 401, 403, 404, 429],
  async handle({ catalog }, { path }) {
    const data = await catalog.find(path.blockId);
    if (!data) throw notFound('Block');
    return { data };
  },
});

export const listTools = defineOperation({
  ...READ_FIELDS,
  ...WORKSPACE_RESOURCE,
  id: 'listTools',
  method: 'GET',
  path: '/api/v2/tools',
  summary: 'List the tools of agents and blocks',
  params: z.strictObject({}),
  query: schemas.toolsQuery,
  success: [{ status: 200, schema: schemas.toolSummary, isPage: true, description: 'A page of tools' }],
  errors: [400, 401, 403, 404, 429],
  async handle({ tools }, { query }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const { page, next } = await tools.list({ ...query, afterPosition });
    return { page, nextCursor: positionCodec.encode(next, query) };
  },
});

export const getTool = defineOperation({
  ...READ_FIELDS,
  ...WORKSPACE_RESOURCE,
  id: 'getTool',
  method: 'GET',
  path: '/api/v2/tools/{toolId}',
  summary: 'Get a tool with its arguments',
  params: schemas.toolPath,
  query: schemas.workspaceQuery,
  success: [{ status: 200, schema: schemas.toolDetail, description: 'The tool' }],
  errors: [400, 401, 403, 404, 429],
  async handle({ tools }, { path }) {
    const data = await tools.find(path.toolId);
    if (!data) throw notFound('Tool');
    return { data };
  },
});

export const listConnectorTypes = defineOperation({
  ...READ_FIELDS,
  ...WORKSPACE_RESOURCE,
  id: 'listConnectorTypes',
  method: 'GET',
  path: '/api/v2/connector-types',
  summary: 'List the registered connector types',
  params: z.strictObject({}),
  query: schemas.connectorsQuery,
  success: [{ status: 200, schema: schemas.connectorType, isPage: true, description: 'A page of types' }],
  errors: [400, 401, 403, 404, 429],
  handle({ connectorTypes }, { query }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const { page, next } = connectorTypes.list({ ...query, afterPosition });
    return Promise.resolve({
      page,
      nextCursor: positionCodec.encode(next, query),
    });
  },
});

export const executeTool = defineOperation({
  tag: 'Catalog',
  scope: 'api:write',
  role: 'write',
  principals: USER_PRINCIPALS,
  resource: workspace('body'),
  audit: { resourceType: 'tool', actions: ['TOOL_EXECUTED'] },
  executesWorkflow: true,
  id: 'executeTool',
  method: 'POST',
  path: '/api/v2/tools/{toolId}/execute',
  summary: 'Run a registered tool',
  params: schemas.toolPath,
  query: z.strictObject({}),
  body: schemas.executeBody,
  success: [{ status: 200, schema: schemas.toolResult, description: 'The result, or why there is none' }],
  errors: [400, 401, 403, 404, 413, 415, 429],
  async handle({ tools }, { path: { toolId }, body, signal, recordAudit }) {
    if (!(await tools.find(toolId))) throw notFound('Tool');
    // A credential can be used only in a run, whose data is redacted.
    if (body.credentialId !== undefined) throw notFound('Credential');
    const args = body.input as JsonObject;
    const details = tools.validateArguments(toolId, args);
    if (details.length > 0)
      throw new ApiError(400, 'The input does not match the schema of the tool', { details });
    // Recorded before the call, so that every call is recorded.
    await recordAudit({ resourceId: toolId });
    const call = { args, idempotencyKey: randomUUID(), timeoutMs: body.timeoutSeconds * 1000, signal };
    return { data: { toolId, ...(await tools.run(toolId, call)) } };
  },
});
