/** Stores of their own, for several processes that share them. */
export { openStores } from './open.ts';
export { openPostgres } from './postgres/options.ts';
export { makePrivateData, makePrivateFile } from './private-files.ts';
export type { StoreOptions } from './open.ts';
export type { PostgresOptions } from './postgres/options.ts';
export type { Durability, LocalRunStore, SharedStores, Stores } from './stores.ts';
