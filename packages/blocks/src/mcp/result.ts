import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { BlockError } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

const MAX_MESSAGE_CHARS = 2000;

/**
 * Returns the result of a call as JSON: the list of its parts (texts, images and audio as Base64, resources), and its
 * structured content if it has any. Throws MCP_TOOL_FAILED for the result of a call that failed.
 */
export function outputOf(tool: Tool, result: CallToolResult): JsonObject {
  const content = (result.content ?? []) as unknown as Json[];
  if (result.isError)
    throw new BlockError(
      'MCP_TOOL_FAILED',
      `The tool "${tool.name.slice(0, 100)}" failed: ${textOf(result).slice(0, MAX_MESSAGE_CHARS) || 'it gives no reason'}`,
      { retryable: false },
    );
  const { structuredContent } = result;
  return {
    content,
    ...(structuredContent !== undefined && { structuredContent: structuredContent as Json }),
  };
}

/**
 * Returns what a model gets as the result of a call: the structured content, else the text, else all parts. Throws
 * MCP_TOOL_FAILED for the result of a call that failed.
 */
export function resultForModel(tool: Tool, result: CallToolResult): Json {
  const { content, structuredContent } = outputOf(tool, result);
  if (structuredContent !== undefined) return structuredContent;
  const hasOnlyText = (result.content ?? []).every(({ type }) => type === 'text');
  return hasOnlyText ? textOf(result) : (content as Json);
}

function textOf({ content }: CallToolResult): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
