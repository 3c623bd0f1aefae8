import { json, pageLimit, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';

const strings = z.array(z.string());
const jsonObject = z.record(z.string(), json);
/** Maximum time limit of a tool. */
const MAX_TOOL_SECONDS = 300;

export const blockPath = z.strictObject({ blockId: z.string().min(1).max(255) });
export const workspaceQuery = z.strictObject({ workspaceId });

export const listQuery = z.strictObject({
  workspaceId,
  search: z.string().min(1).max(200).optional(),
  category: z.enum(['blocks', 'tools', 'triggers']).optional(),
  capability: z.literal('trigger').optional(),
  source: z.enum(['builtin', 'custom']).optional(),
  sortBy: z.enum(['id', 'name', 'category']).default('id'),
  sortOrder: z.enum(['asc', 'desc']).default('asc'),
  limit: pageLimit(100, 50),
  cursor: z.string().min(1).max(4096).optional(),
});

export const toolPath = z.strictObject({ toolId: z.string().min(1).max(255) });

export const toolsQuery = z.strictObject({
  ...listQuery.omit({ category: true, capability: true, source: true }).shape,
  hostedApiKey: z.enum(['always', 'conditional', 'none']).optional(),
  oauthProvider: z.string().min(1).max(255).optional(),
  sortBy: z.enum(['id', 'name']).default('id'),
});

export const connectorsQuery = z.strictObject({
  workspaceId,
  search: z.string().min(1).max(200).optional(),
  detail: z
    .enum(['summary', 'full'])
    .default('summary')
    .meta({ description: 'full: with version, settings of the authentication, fields and tags' }),
  limit: pageLimit(100, 25),
  cursor: z.string().min(1).max(4096).optional(),
});

const connectorField = z.object({
  id: z.string(),
  title: z.string(),
  type: z.enum(['short-input', 'dropdown', 'selector']),
  placeholder: z.string().optional(),
  required: z.boolean().optional(),
  description: z.string().optional(),
  options: z.array(z.object({ id: z.string(), label: z.string() })).optional(),
  selectorKey: z.string().optional(),
  mimeType: z.string().optional(),
  dependsOn: z.union([strings, z.object({ all: strings.optional(), any: strings.optional() })]).optional(),
  mode: z.enum(['basic', 'advanced']).optional(),
  canonicalParamId: z
    .string()
    .optional()
    .meta({ description: 'The key in the configuration: send one value of the fields that share it' }),
  multi: z.boolean().optional().meta({ description: 'The value may be an array of strings' }),
});

/** A connector type; the optional keys are those of `detail=full`. */
export const connectorType = z.object({
  connectorType: z.string(),
  name: z.string(),
  description: z.string(),
  auth: z.object({
    mode: z.enum(['oauth', 'apiKey']),
    provider: z.string().optional(),
    requiredScopes: strings.optional(),
    label: z.string().optional(),
    placeholder: z.string().optional(),
    optional: z.boolean().optional(),
  }),
  version: z.string().optional(),
  configFields: z.array(connectorField).optional(),
  supportsIncrementalSync: z.boolean().optional(),
  tagDefinitions: z
    .array(
      z.object({
        id: z.string(),
        displayName: z.string(),
        fieldType: z.enum(['text', 'number', 'date', 'boolean']),
      }),
    )
    .optional(),
});

/** A registered type, as `detail=full` shows it. */
export const registeredConnector = connectorType.required({
  version: true,
  configFields: true,
  supportsIncrementalSync: true,
  tagDefinitions: true,
});

export const executeBody = z.strictObject({
  workspaceId,
  input: jsonObject,
  credentialId: z.string().min(1).max(255).optional(),
  timeoutSeconds: z.int().min(1).max(MAX_TOOL_SECONDS).default(60),
});

export const toolSummary = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  hostedApiKey: z.enum(['always', 'conditional', 'none']),
});

export const toolDetail = toolSummary.extend({
  params: z.record(
    z.string(),
    z.object({
      type: z.string(),
      required: z.boolean(),
      description: z.string().optional(),
      default: json.optional(),
      items: json.optional(),
    }),
  ),
  outputs: jsonObject,
});

export const toolResult = z.object({
  toolId: z.string(),
  status: z.enum(['completed', 'failed']),
  output: json,
  error: z.string().nullable(),
});

export const position = z.tuple([z.string(), z.string()]);

export const blockSummary = z.object({
  id: z.string().meta({ description: 'The type of the blocks' }),
  name: z.string(),
  description: z.string(),
  category: z.string(),
  source: z.enum(['builtin', 'custom']),
  triggerAllowed: z.boolean(),
  triggerCapable: z.boolean().meta({ description: 'Blocks of the type can start runs' }),
  triggerIds: strings,
  toolIds: strings,
  operationIds: strings,
  preview: z.boolean(),
  tags: strings,
});

const field = z.object({
  id: z.string(),
  type: z.string().meta({ description: 'Which control edits the field' }),
  required: z.boolean().optional(),
  description: z.string().optional(),
  options: z.array(z.object({ id: z.string() })).optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  integer: z.boolean().optional(),
  password: z.boolean().optional().meta({ description: 'The value is a credential' }),
  language: z.string().optional(),
  defaultValue: json.optional(),
});

const valueInfo = z.object({ type: z.string(), description: z.string().optional() });

export const blockDetail = blockSummary.extend({
  inputSchema: z.array(field),
  operationInputSchema: z.record(z.string(), z.array(field)),
  inputDefinitions: z.record(
    z.string(),
    valueInfo.extend({ schema: jsonObject.meta({ description: 'JSON Schema of the field' }) }),
  ),
  operations: jsonObject,
  tools: z.array(jsonObject),
  triggers: z.array(
    z.object({ id: z.string(), outputs: z.record(z.string(), valueInfo), configFields: jsonObject }),
  ),
  outputs: z.record(z.string(), valueInfo),
});
