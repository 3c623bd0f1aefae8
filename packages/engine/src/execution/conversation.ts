import { createHash } from 'node:crypto';
import { BlockError } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import type { Place } from '@heddle/core/run';
import { idempotencyKeyOf } from '../executors/context.ts';
import type { Conversation } from '../executors/services.ts';
import { wrapStoreErrors } from '../records/infrastructure-error.ts';
import type { ConversationStore } from '../store/stores.ts';
import type { RunEnvironment } from './run-environment.ts';

const MAX_ID_CHARS = 255;
const CONTROL_CHARACTER = /\p{Cc}/u;

interface ConversationDependencies {
  store: ConversationStore;
  tenant: () => Promise<string | undefined>;
  environment: Pick<RunEnvironment, 'redactJson'>;
  runId: string;
  place: Place;
}

/**
 * Returns a conversation of the run's tenant, for the block at `place`. Throws BLOCK_CONFIG_INVALID for an invalid id.
 */
export function conversationOf(dependencies: ConversationDependencies, id: string): Conversation {
  if (id === '' || id.length > MAX_ID_CHARS || !id.isWellFormed() || CONTROL_CHARACTER.test(id)) {
    const rule = `must have 1 to ${MAX_ID_CHARS} characters and no control characters`;
    throw new BlockError('BLOCK_CONFIG_INVALID', `The id of a conversation ${rule}.`, { retryable: false });
  }
  const { store, environment, runId, place } = dependencies;
  const resolveConversationKey = async () => ({ tenant: (await dependencies.tenant()) ?? '', id });
  return {
    newestExchanges: async (maxChars) => {
      const exchanges = await wrapStoreErrors(async () =>
        store.newestExchanges(await resolveConversationKey(), maxChars),
      );
      return exchanges.map((json) => JSON.parse(json) as Json);
    },
    add: async (exchange) => {
      const key = createHash('sha256')
        .update(idempotencyKeyOf(runId, place.block, place.scope))
        .digest('hex');
      const json = JSON.stringify(environment.redactJson(exchange));
      await wrapStoreErrors(async () => store.add(await resolveConversationKey(), { key, json }));
    },
    remove: async () => wrapStoreErrors(async () => store.remove(await resolveConversationKey())),
  };
}

/** Returns the ids of the conversations of the run's tenant, at most `limit`. */
export async function conversationIds(
  { store, tenant }: Pick<ConversationDependencies, 'store' | 'tenant'>,
  limit: number,
): Promise<string[]> {
  return wrapStoreErrors(async () => store.ids((await tenant()) ?? '', limit));
}
