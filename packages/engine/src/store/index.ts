/** Stores of their own, for several processes that share them. */
export { openStores } from './open.ts';
export { openPostgres } from './open-postgres.ts';
export { makePrivateData, makePrivateFile } from './private-files.ts';
export type { StoreOptions } from './open.ts';
export type { PostgresOptions } from './open-postgres.ts';
export type { Durability, TailableRunStore, SharedStores, Stores } from './stores.ts';
