import type { Clock } from '@heddle/core';
import { openPostgres, openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import type { StoreOptions } from './options.ts';

/** The stores that the options name. */
export async function storesOf(options: StoreOptions, clock: Clock | undefined): Promise<SharedStores> {
  if ('stores' in options) return { ...options.stores, close: () => undefined };
  if ('postgres' in options) return openPostgres({ url: options.postgres });
  return openStores({ data: options.data, shared: true, clock });
}
