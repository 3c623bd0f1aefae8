import type { Tool } from '@modelcontextprotocol/client';
import { BlockError } from '@heddle/core/blocks';
import type { McpSession } from './session.ts';

/**
 * Returns the tool with this name. Exported workflows may prefix the name with the id of the server. Throws
 * MCP_TOOL_UNKNOWN.
 */
export function findTool(tools: readonly Tool[], server: string, name: string): Tool {
  const prefix = `${server}-`;
  const names = name.startsWith(prefix) ? [name, name.slice(prefix.length)] : [name];
  const matchingTool = names
    .map((candidate) => tools.find((tool) => tool.name === candidate))
    .find((tool) => tool);
  if (matchingTool) return matchingTool;
  throw new BlockError(
    'MCP_TOOL_UNKNOWN',
    `The MCP server "${server}" has no tool "${name.slice(0, 100)}", or the operator does not allow it.`,
    { retryable: false },
  );
}

/** Returns whether a call may be repeated: only if the operator trusts the server's annotations of its tools. */
export function isIdempotent(session: McpSession, { annotations }: Tool): boolean {
  return (
    session.areAnnotationsTrusted &&
    (annotations?.idempotentHint === true || annotations?.readOnlyHint === true)
  );
}
