import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { isJsonObject } from '@heddle/core/blocks';
import type { BlockContext, Json } from '@heddle/core/blocks';
import { invalidConfigError } from '../invalid-config-error.ts';

type Role = 'system' | 'user' | 'assistant';

/**
 * Returns the messages of an agent: those of `messages`, and of the older fields `systemPrompt`, `memories` and
 * `userPrompt`.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function promptOf(context: BlockContext): LanguageModelV4Prompt {
  const items = [...listOf(context.field('memories', 'json')), ...listOf(context.field('messages', 'json'))];
  const systemText = textOf(context.field('systemPrompt', 'native') ?? null);
  const userText = textOf(userPromptValue(context.field('userPrompt', 'native') ?? null));
  const nonEmptyMessages = [
    ...(systemText === '' ? [] : [{ role: 'system' as const, content: systemText }]),
    ...items.map((item) => messageOf(item, context)),
    ...(userText === '' ? [] : [{ role: 'user' as const, content: userText }]),
  ].filter(({ content }) => content.trim() !== '');
  if (nonEmptyMessages.length === 0) throw invalidConfigError(context, 'has no messages: write at least one');
  // Providers accept instructions only at the beginning, and refuse a call without a user message.
  const instructions = nonEmptyMessages.filter(({ role }) => role === 'system');
  const nonSystemMessages = nonEmptyMessages.filter(({ role }) => role !== 'system');
  if (nonSystemMessages.length === 0)
    return [{ role: 'user', content: [textPart(instructions.map(({ content }) => content).join('\n\n'))] }];
  return [
    ...instructions.map(({ content }) => ({ role: 'system' as const, content })),
    ...nonSystemMessages.map(({ role, content }) => ({
      role: role as 'user' | 'assistant',
      content: [textPart(content)],
    })),
  ];
}

function textPart(text: string): { type: 'text'; text: string } {
  return { type: 'text', text };
}

function listOf(value: Json | undefined): Json[] {
  if (value === undefined || value === null || value === '') return [];
  return Array.isArray(value) ? value : [value];
}

function messageOf(item: Json, context: BlockContext): { role: Role; content: string } {
  if (!isJsonObject(item))
    throw invalidConfigError(
      context,
      'has an invalid message: it must be an object with "role" and "content"',
    );
  const { role = 'user', content = null } = item;
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw invalidConfigError(
      context,
      `has a message with the role ${JSON.stringify(role)}: it must be system, user or assistant`,
    );
  return { role, content: textOf(content) };
}

/** Returns the value of the older field `userPrompt`, which is text or `{ input }`. */
function userPromptValue(value: Json): Json {
  return isJsonObject(value) && value['input'] !== undefined ? value['input'] : value;
}

function textOf(value: Json): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
