/** Opens stores, for one process or for several that share them. */
export { openStores } from './open.ts';
export { openPostgres } from './open-postgres.ts';
export { isStorable } from './stores.ts';
export { makeDataFolderPrivate, makePrivateFile } from './private-files.ts';
export type { StoreOptions } from './open.ts';
export type { LiveEventStore } from './live-events.ts';
export type { RateStore } from './rates.ts';
export type { SpendingStore } from './spending.ts';
export type { PostgresOptions } from './postgres/open.ts';
export type {
  ConversationStore,
  Durability,
  RunChangeStore,
  TailableRunStore,
  SharedStores,
  Stores,
} from './stores.ts';
