import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { BlockContext, Json } from '@heddle/core/blocks';

type Role = 'system' | 'user' | 'assistant';

/**
 * Returns the messages of an agent: those of `messages`, or of the older fields `systemPrompt`, `memories` and `userPrompt`.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function promptOf(context: BlockContext): LanguageModelV4Prompt {
  const rows = listOf(context.field('messages', 'json'));
  const memories = listOf(context.field('memories', 'json'));
  const system = textOf(context.field('systemPrompt', 'native') ?? null);
  const user = textOf(promptText(context.field('userPrompt', 'native') ?? null));
  const written = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...[...(memories ?? []), ...(rows ?? [])].map((row) => messageOf(row, context.block.name)),
    ...(user === '' ? [] : [{ role: 'user' as const, content: user }]),
  ].filter(({ content }) => content.trim() !== '');
  if (!written.some(({ role }) => role !== 'system') && written.length === 0)
    throw invalid(context.block.name, 'has no messages: write at least one');
  // Providers take instructions only at the beginning, and no call without a message of a user.
  const instructions = written.filter(({ role }) => role === 'system');
  const talk = written.filter(({ role }) => role !== 'system');
  if (talk.length === 0)
    return [{ role: 'user', content: [part(instructions.map(({ content }) => content).join('\n\n'))] }];
  return [
    ...instructions.map(({ content }) => ({ role: 'system' as const, content })),
    ...talk.map(({ role, content }) => ({ role: role as 'user' | 'assistant', content: [part(content)] })),
  ];
}

function part(text: string): { type: 'text'; text: string } {
  return { type: 'text', text };
}

function listOf(value: Json | undefined): Json[] | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return Array.isArray(value) ? value : [value];
}

function messageOf(row: Json, block: string): { role: Role; content: string } {
  if (!isJsonObject(row))
    throw invalid(block, 'has a message that is not an object with "role" and "content"');
  const { role = 'user', content = null } = row;
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw invalid(
      block,
      `has a message with the role ${JSON.stringify(role)}: it must be system, user or assistant`,
    );
  return { role, content: textOf(content) };
}

/** The older field holds text, or `{ input }`. */
function promptText(value: Json): Json {
  return isJsonObject(value) && value['input'] !== undefined ? value['input'] : value;
}

function textOf(value: Json): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function invalid(block: string, why: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', `The agent "${block}" ${why}.`, { retryable: false });
}
