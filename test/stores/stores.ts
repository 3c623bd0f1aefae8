import { onTestFinished } from 'vitest';
import { openStores } from '../../packages/engine/src/store/open.ts';
import type { StoreOptions } from '../../packages/engine/src/store/open.ts';
import type { Stores } from '../../packages/engine/src/store/stores.ts';

/** Opens stores. They are closed after the test. */
export function openTestStores(options: StoreOptions): Stores {
  const stores = openStores(options);
  onTestFinished(() => stores.close());
  return stores;
}
