import { describe, expect, it } from 'vitest';
import { MemoryConversations } from '../store/memory-conversations.ts';
import { conversationOf } from './conversation.ts';

const store = () => new MemoryConversations();

function conversation(
  of: MemoryConversations,
  { runId = 'r', scope = [0], tenant = 'a' }: { runId?: string; scope?: number[]; tenant?: string } = {},
) {
  const environment = {
    json: (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('hunter2', '***')) as never,
  };
  const place = { block: 'agent', scope };
  return conversationOf({ store: of, tenant: async () => tenant, environment, runId, place }, 'talk');
}

describe('a conversation', () => {
  it('contains one exchange per execution of a block, even if the exchange is added repeatedly', async () => {
    const all = store();
    await conversation(all).add('first');
    await conversation(all).add('again');
    await conversation(all, { scope: [1] }).add('next iteration');
    await conversation(all, { runId: 's' }).add('next run');
    expect(await conversation(all).newest(1000)).toEqual(['first', 'next iteration', 'next run']);
  });

  it('belongs to the tenant', async () => {
    const all = store();
    await conversation(all).add('mine');
    expect(await conversation(all, { tenant: 'b' }).newest(1000)).toEqual([]);
  });

  it('is stored without secrets', async () => {
    const all = store();
    await conversation(all).add({ text: 'hunter2' });
    expect(await conversation(all).newest(1000)).toEqual([{ text: '***' }]);
  });

  it.each(['', 'x'.repeat(256), 'a\u0000b', '\uD800'])('refuses the id %j', (id) => {
    const parts = {
      store: store(),
      tenant: async () => 'a',
      environment: { json: (value: never) => value },
      runId: 'r',
      place: { block: 'agent', scope: [] },
    };
    expect(() => conversationOf(parts, id)).toThrow(
      expect.objectContaining({ code: 'BLOCK_CONFIG_INVALID' }),
    );
  });
});
