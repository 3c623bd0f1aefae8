import type { Json } from '@heddle/core/blocks';
import * as z from 'zod';
import { messagesIn } from '../agent/memory.ts';
import { defineLazyBlock } from '../define.ts';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';

/** Maximum number of conversations in one list. */
const MAX_CONVERSATIONS = 100;
/** Maximum number of characters of all messages that one block reads, as JSON. */
const MAX_CHARS = 1_000_000;

const messageSchema = z.object({ role: z.string(), content: z.string() });
type Message = z.output<typeof messageSchema>;

const fields = z.object({
  operation: z
    .enum(['add', 'get', 'getAll', 'delete'])
    .default('add')
    .describe('add a message; get or delete a conversation; getAll: get all conversations. Default: add.'),
  id: z.string().optional().describe('Id of the conversation, as in "conversationId" of agents.'),
  conversationId: z.string().optional().describe('Used instead of id if id is empty.'),
  role: z.enum(['user', 'assistant']).default('user').describe('add: who wrote the message. Default: user.'),
  content: z.string().optional().describe('add: the message.'),
});

type Fields = z.output<typeof fields>;

/** Reads and writes the conversations that agents remember. */
export const memory = defineLazyBlock({
  summary: 'Reads and writes the conversations that agents remember.',
  fields,
  outputs: z.object({
    id: z.string().optional().describe('Id of the conversation.'),
    memories: z
      .array(z.json())
      .describe('The messages {"role", "content"}, oldest first; getAll: conversations {"id", "messages"}.'),
  }),
  async run({ fields, context }) {
    if (fields.operation === 'getAll') return { output: { memories: await allConversations(context) } };
    const id = idOf(fields, context);
    const conversation = context.services.conversation(id);
    if (fields.operation === 'delete') {
      await conversation.remove();
      return { output: { id, memories: [] } };
    }
    if (fields.operation === 'add')
      await conversation.add({ turns: [{ role: fields.role, text: contentOf(fields, context) }] });
    return { output: { id, memories: messagesOf(await conversation.newestExchanges(MAX_CHARS)) } };
  },
});

async function allConversations(context: Context): Promise<Json[]> {
  const { services } = context;
  const conversations: Json[] = [];
  let remainingChars = MAX_CHARS;
  for (const id of await services.conversationIds(MAX_CONVERSATIONS)) {
    const exchanges = await services.conversation(id).newestExchanges(remainingChars);
    remainingChars -= JSON.stringify(exchanges).length;
    conversations.push({ id, messages: messagesOf(exchanges) });
  }
  return conversations;
}

function messagesOf(exchanges: readonly Json[]): Message[] {
  return exchanges.flatMap(messagesIn).map(({ role, text }) => ({ role, content: text }));
}

function idOf({ operation, id, conversationId }: Fields, context: Context): string {
  const effectiveId = id ?? conversationId;
  if (effectiveId === undefined)
    throw invalidConfigError(context, `has no "id": the operation "${operation}" requires it`);
  return effectiveId;
}

function contentOf({ content }: Fields, context: Context): string {
  if (content === undefined || content.trim() === '')
    throw invalidConfigError(context, 'has no "content": the operation "add" requires it');
  return content;
}
