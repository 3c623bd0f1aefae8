import { KEPT_EXCHANGES } from './stores.ts';
import type { ConversationKey, ConversationStore } from './stores.ts';

/** Conversations in memory. */
export class MemoryConversations implements ConversationStore {
  /** By tenant and id: the exchanges by their keys, oldest first. */
  readonly #conversations = new Map<string, Map<string, string>>();

  add(conversation: ConversationKey, { key, json }: { key: string; json: string }): void {
    const exchanges = this.#of(conversation) ?? new Map<string, string>();
    this.#conversations.set(nameOf(conversation), exchanges);
    if (exchanges.has(key)) return;
    exchanges.set(key, json);
    const [oldest] = exchanges.keys();
    if (exchanges.size > KEPT_EXCHANGES && oldest !== undefined) exchanges.delete(oldest);
  }

  newest(conversation: ConversationKey, maxChars: number): string[] {
    const exchanges = [...(this.#of(conversation)?.values() ?? [])];
    let first = exchanges.length;
    let left = maxChars;
    while (first > 0 && (left -= (exchanges[first - 1] ?? '').length) >= 0) first -= 1;
    return exchanges.slice(first);
  }

  #of(conversation: ConversationKey): Map<string, string> | undefined {
    return this.#conversations.get(nameOf(conversation));
  }
}

function nameOf({ tenant, id }: ConversationKey): string {
  return JSON.stringify([tenant, id]);
}
