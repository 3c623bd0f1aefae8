import * as z from 'zod';
import { BlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { Tool } from '@modelcontextprotocol/client';
import { defineLazyBlock } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { compileThirdPartySchema } from '../agent/json-schema.ts';
import { openSession } from './session.ts';
import { outputOf } from './result.ts';
import { isIdempotent, findTool } from './tools.ts';

/** Calls a tool of an MCP server. */
export const mcp = defineLazyBlock({
  summary: 'Calls a tool of a server of the Model Context Protocol.',
  fields: z.object({
    server: z.string().describe('The name of the server, as the operator has configured it.'),
    tool: z.string().describe('The name of the tool.'),
    arguments: z.looseObject({}).optional().describe('The arguments of the tool.'),
    credential: z.string().optional().describe('The id of a stored credential for the server.'),
  }),
  outputs: z.object({
    content: z.array(z.any()).describe('The parts of the result: texts, images, audio, resources.'),
  }),
  async run({ fields, context, options }) {
    const { server: name, credential } = fields;
    const session = await openSession(context, options, { name, credential });
    const tool = findTool(await session.listTools(), name, fields.tool);
    const args = (fields.arguments ?? {}) as JsonObject;
    const problems = createArgumentsValidator(tool)(args);
    if (problems !== undefined)
      throw invalidConfigError(
        context,
        `has arguments that the tool "${tool.name}" does not accept: ${problems}`,
      );
    const callTool = async () => outputOf(tool, await session.call(tool, args, 'call'));
    const output = await context.step('call', callTool, { idempotent: isIdempotent(session, tool) });
    return { output: { content: (output as { content: JsonObject[] }).content } };
  },
});

function createArgumentsValidator(tool: Tool) {
  return compileThirdPartySchema(
    tool.inputSchema as JsonObject,
    (problem) =>
      new BlockError('MCP_FAILED', `The schema of the tool "${tool.name.slice(0, 100)}" ${problem}.`, {
        retryable: false,
      }),
  );
}
