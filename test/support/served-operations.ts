import { describeBlocks, knownProviders } from '@heddle/blocks';
import { triggerTypes } from '@heddle/blocks/triggers';
import type { AnyOperation } from '@heddle/api/areas';
import { parseKeys, openSandboxes, Sealer, serviceAreas } from '@heddle/service';
import type { ServiceStore } from '@heddle/service';
import type { CatalogTool } from '@heddle/service/areas';

const KEY = Buffer.alloc(32, 1).toString('base64');

/** A tool that returns its arguments. */
const ECHO_TOOL: CatalogTool = {
  id: 'echo',
  description: 'Returns its arguments.',
  parameters: { type: 'object', properties: { text: { type: 'string' } } },
  run: (args) => Promise.resolve(args),
};

/**
 * Returns options for the areas (modules of API operations) of secrets, sandboxes and the catalog. Images cannot be
 * built.
 */
export function servedAreaOptions(store: ServiceStore) {
  const openImages = (): Promise<never> => Promise.reject(new Error('This service cannot build images.'));
  const credentialProviders = { listKeyProviders: knownProviders, oauthProviderIds: ['shop'] };
  const sandboxes = openSandboxes({ store, openImageStore: openImages, onError: () => undefined });
  return {
    describeBlocks,
    triggers: triggerTypes,
    tools: [ECHO_TOOL],
    sandboxes,
    sealer: new Sealer(parseKeys(KEY)),
    credentialProviders,
  };
}

/** The list of operations does not depend on the store, so none is opened. */
const store = {} as ServiceStore;

/** Every API operation that `heddle serve` serves. The handlers of these operations cannot be called. */
export const SERVED_OPERATIONS: readonly AnyOperation[] = serviceAreas({
  store,
  ...servedAreaOptions(store),
}).flatMap((area): AnyOperation[] => Object.values(area.operations));
