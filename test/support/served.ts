import type { AnyOperation } from '@heddle/api/areas';
import { keysInText, openSandboxes, openServiceStore, Sealer, serviceAreas } from '@heddle/service';
import type { ServiceStore } from '@heddle/service';

const KEY = Buffer.alloc(32, 1).toString('base64');

/** Returns what the areas of secrets and sandboxes need; images cannot be built. */
export function servedParts(store: ServiceStore) {
  const images = (): Promise<never> => Promise.reject(new Error('There are no images.'));
  const sandboxes = openSandboxes({ store, images, onError: () => undefined });
  return { sandboxes, sealer: new Sealer(keysInText(KEY)) };
}

const store = await openServiceStore();
await store.close();

/** Every operation that `heddle serve` has. */
export const SERVED: readonly AnyOperation[] = serviceAreas({ store, ...servedParts(store) }).flatMap(
  (area): AnyOperation[] => Object.values(area.operations),
);
