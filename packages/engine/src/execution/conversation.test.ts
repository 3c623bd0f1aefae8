import { describe, expect, it } from 'vitest';
import { MemoryConversations } from '../store/memory-model-data.ts';
import { conversationOf } from './conversation.ts';

const newStore = () => new MemoryConversations();

function createConversation(
  store: MemoryConversations,
  { runId = 'r', scope = [0], tenant = 'a' }: { runId?: string; scope?: number[]; tenant?: string } = {},
) {
  const environment = {
    redactJson: (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('hunter2', '***')) as never,
  };
  const place = { block: 'agent', scope };
  return conversationOf({ store, tenant: async () => tenant, environment, runId, place }, 'talk');
}

describe('a conversation', () => {
  it('contains one exchange per execution of a block, even if the exchange is added repeatedly', async () => {
    const store = newStore();
    await createConversation(store).add('first');
    await createConversation(store).add('again');
    await createConversation(store, { scope: [1] }).add('next iteration');
    await createConversation(store, { runId: 's' }).add('next run');
    expect(await createConversation(store).newestExchanges(1000)).toEqual([
      'first',
      'next iteration',
      'next run',
    ]);
  });

  it('belongs to the tenant', async () => {
    const store = newStore();
    await createConversation(store).add('mine');
    expect(await createConversation(store, { tenant: 'b' }).newestExchanges(1000)).toEqual([]);
  });

  it('is stored without secrets', async () => {
    const store = newStore();
    await createConversation(store).add({ text: 'hunter2' });
    expect(await createConversation(store).newestExchanges(1000)).toEqual([{ text: '***' }]);
  });

  it.each(['', 'x'.repeat(256), 'a\u0000b', '\uD800'])('rejects the id %j', (id) => {
    const dependencies = {
      store: newStore(),
      tenant: async () => 'a',
      environment: { redactJson: (value: never) => value },
      runId: 'r',
      place: { block: 'agent', scope: [] },
    };
    expect(() => conversationOf(dependencies, id)).toThrow(
      expect.objectContaining({ code: 'BLOCK_CONFIG_INVALID' }),
    );
  });
});
