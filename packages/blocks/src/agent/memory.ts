import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Conversation } from '@heddle/engine';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { ResolvedModel } from '../models/resolve.ts';
import { numberOf } from './settings.ts';

/** Estimated number of characters of one token. */
const CHARS_PER_TOKEN = 4;
/** Context length, in tokens, of a model that is not in the catalog. */
const DEFAULT_CONTEXT_TOKENS = 32_000;
/** The part of a model's context that earlier exchanges may fill. */
const HISTORY_SHARE = 0.5;
const DEFAULT_MAX_MESSAGES = 10;
const DEFAULT_MAX_TOKENS = 4000;

/** The conversation of an agent: its earlier exchanges, and a function that adds the new one. */
export interface Memory {
  /** The prompt, with earlier exchanges before the question. */
  prompt: LanguageModelV4Prompt;
  /** Adds the question and its answer to the conversation. Later attempts of the block do not add them again. */
  add(answer: string): Promise<void>;
}

/** The limits of the earlier exchanges that the model gets. Both apply. */
interface HistoryWindow {
  maxChars: number;
  maxMessages: number;
}

/** A message of a stored exchange. */
interface StoredMessage {
  role: 'user' | 'assistant';
  text: string;
}

/**
 * Returns the memory that the fields `memoryType` and `conversationId` describe; without a memory type, the prompt is
 * unchanged. The exchanges are read in a step, so that another attempt of the block has the same exchanges.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export async function memoryOf(
  context: Context,
  { info }: Pick<ResolvedModel, 'info'>,
  prompt: LanguageModelV4Prompt,
): Promise<Memory> {
  const window = windowOf(context, info?.context ?? DEFAULT_CONTEXT_TOKENS);
  if (!window) return { prompt, add: async () => undefined };
  const conversation = conversationOf(context);
  const readExchanges = async (): Promise<Json[]> => conversation.newestExchanges(window.maxChars);
  const exchanges = (await context.step('memory', readExchanges, { idempotent: true })).map(messagesIn);
  const start = questionStart(prompt);
  const question = prompt.slice(start);
  return {
    prompt: [
      ...prompt.slice(0, start),
      ...newestExchanges(exchanges, window.maxMessages).flat().map(messageOf),
      ...question,
    ],
    async add(answer) {
      // Providers refuse messages without text.
      if (answer.trim() === '') return;
      const messages = [...question.flatMap(storedMessages), { role: 'assistant' as const, text: answer }];
      await conversation.add({ turns: messages.map((message) => ({ ...message })) });
    },
  };
}

function windowOf(context: Context, contextTokens: number): HistoryWindow | undefined {
  const type = context.field('memoryType') ?? '';
  const maxChars = Math.floor(contextTokens * HISTORY_SHARE) * CHARS_PER_TOKEN;
  const limits = { maxChars, maxMessages: Infinity };
  if (type === '' || type === 'none') return undefined;
  if (type === 'conversation') return limits;
  if (type === 'sliding_window')
    return {
      ...limits,
      maxMessages: numberOf(context, 'slidingWindowSize', 1, 10_000) ?? DEFAULT_MAX_MESSAGES,
    };
  if (type === 'sliding_window_tokens') {
    const tokens = numberOf(context, 'slidingWindowTokens', 1, 10_000_000) ?? DEFAULT_MAX_TOKENS;
    return { ...limits, maxChars: Math.min(maxChars, Math.floor(tokens) * CHARS_PER_TOKEN) };
  }
  throw invalidConfigError(
    context,
    `has the unknown memory type ${JSON.stringify(type)}: it must be none, conversation, sliding_window or sliding_window_tokens`,
  );
}

function conversationOf(context: Context): Conversation {
  const id = context.field('conversationId');
  if (typeof id !== 'string' || id.trim() === '')
    throw invalidConfigError(context, 'has a memory but no "conversationId"');
  return context.services.conversation(id);
}

/** Returns the index at which the question begins: the last consecutive user messages, and everything after them. */
function questionStart(prompt: LanguageModelV4Prompt): number {
  let start = prompt.findLastIndex(({ role }) => role === 'user');
  while (prompt[start - 1]?.role === 'user') start -= 1;
  return start === -1 ? prompt.findIndex(({ role }) => role !== 'system') : start;
}

/** Returns the newest whole exchanges that together have at most this many messages. */
function newestExchanges(exchanges: readonly StoredMessage[][], maxMessages: number): StoredMessage[][] {
  let firstIndex = exchanges.length;
  let remaining = maxMessages;
  while (firstIndex > 0 && (remaining -= exchanges[firstIndex - 1]?.length ?? 0) >= 0) firstIndex -= 1;
  return exchanges.slice(firstIndex);
}

function storedMessages(message: LanguageModelV4Message): StoredMessage[] {
  if (message.role !== 'user' && message.role !== 'assistant') return [];
  const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  return [{ role: message.role, text }];
}

/** Returns the messages of a stored exchange. */
export function messagesIn(exchange: Json): StoredMessage[] {
  const { turns } = exchange as JsonObject;
  return (Array.isArray(turns) ? turns : []).filter(isJsonObject) as unknown as StoredMessage[];
}

function messageOf({ role, text }: StoredMessage): LanguageModelV4Message {
  return { role, content: [{ type: 'text', text }] };
}
