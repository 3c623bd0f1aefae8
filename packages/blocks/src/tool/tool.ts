import type { Json, JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { defineLazyBlock } from '../define.ts';
import { callService, permanentError } from '../openapi/call.ts';
import { loadServiceTools } from '../openapi/load-service-tools.ts';

/** Calls a tool of a service, without a model. */
export const tool = defineLazyBlock({
  summary: 'Calls an operation of a service that has been imported from its OpenAPI document.',
  fields: z.object({
    toolId: z.string().describe('Id of the tool, as heddle tools list shows it.'),
    arguments: z.object({}).catchall(z.json()).optional().describe('The arguments, by name.'),
    credential: z
      .string()
      .optional()
      .describe(
        'Id of a stored credential. Default: the credential of the operator, or a credential that is stored for the service.',
      ),
  }),
  outputs: z.object({
    data: z.json().describe('The body: JSON, text, or {"type", "size", "base64"} for other content.'),
    status: z.number().describe('The HTTP status.'),
    headers: z.record(z.string(), z.string()).describe('The headers, with names in lower case.'),
  }),
  async run({ fields, context, options }) {
    const loadedTool = (await loadServiceTools(options))?.get(fields.toolId);
    if (!loadedTool)
      throw permanentError(
        'TOOL_UNKNOWN',
        `The block "${context.block.name}" uses the unknown tool "${fields.toolId.slice(0, 100)}". Import it with heddle tools import, and pass the file with --tools.`,
      );
    const { tool: serviceTool, services, problemsOf } = loadedTool;
    const args = (fields.arguments ?? {}) as JsonObject;
    const problems = problemsOf(args);
    if (problems !== undefined)
      throw permanentError(
        'TOOL_ARGUMENTS_INVALID',
        `The block "${context.block.name}" has arguments that do not match the tool "${serviceTool.id}": ${problems}`,
      );
    const { idempotencyKey } = context;
    const { data, status, headers } = await callService({
      ...{ tool: serviceTool, args, services, context, idempotencyKey },
      credentialId: fields.credential,
    });
    return { output: { data: data as Json, status, headers } };
  },
});
