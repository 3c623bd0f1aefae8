import { MAX_EXCHANGES } from './stores.ts';
import type { ConversationKey, ConversationStore } from './stores.ts';

/** Conversations in memory. */
export class MemoryConversations implements ConversationStore {
  /** By tenant and id: the exchanges by their keys, oldest first. */
  readonly #tenants = new Map<string, Map<string, Map<string, string>>>();

  add({ tenant, id }: ConversationKey, { key, json }: { key: string; json: string }): void {
    const conversations = this.#tenants.get(tenant) ?? new Map<string, Map<string, string>>();
    this.#tenants.set(tenant, conversations);
    const exchanges = conversations.get(id) ?? new Map<string, string>();
    conversations.set(id, exchanges);
    if (exchanges.has(key)) return;
    exchanges.set(key, json);
    const [oldest] = exchanges.keys();
    if (exchanges.size > MAX_EXCHANGES && oldest !== undefined) exchanges.delete(oldest);
  }

  newest({ tenant, id }: ConversationKey, maxChars: number): string[] {
    const exchanges = [...(this.#tenants.get(tenant)?.get(id)?.values() ?? [])];
    let first = exchanges.length;
    let remaining = maxChars;
    while (first > 0 && (remaining -= (exchanges[first - 1] ?? '').length) >= 0) first -= 1;
    return exchanges.slice(first);
  }

  remove({ tenant, id }: ConversationKey): void {
    this.#tenants.get(tenant)?.delete(id);
  }

  ids(tenant: string, limit: number): string[] {
    const ids = [...(this.#tenants.get(tenant)?.keys() ?? [])];
    return ids.toSorted(byCodePoint).slice(0, limit);
  }
}

/**
 * Compares strings in the order of the databases. JavaScript's order puts characters beyond 16 bits before some smaller
 * ones.
 */
function byCodePoint(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
