import { BlockError } from '@heddle/core/blocks';
import type { BlockConfig } from '@heddle/core/blocks';
import type { HostFeature } from '@heddle/core/drafts';
import { permanentError } from '../openapi/call.ts';

export { permanentError } from '../openapi/call.ts';

const FEATURES: { readonly [feature in HostFeature]: string } = {
  files: 'files of its workspace',
  knowledge: 'knowledge bases of its workspace',
};

/** Returns FEATURE_MISSING for a block that uses data that the host does not store. */
export function missingFeatureError({ name }: Pick<BlockConfig, 'name'>, feature: HostFeature): BlockError {
  return new BlockError(
    'FEATURE_MISSING',
    `The block "${name}" uses ${FEATURES[feature]}, which this host does not store. Run it in an engine whose host stores them, or mock the block.`,
    { retryable: false, details: { feature } },
  );
}

/** Returns TOOL_ARGUMENTS_INVALID: `The call cannot be made: it <problem>.` */
export function invalidCallError(problem: string): BlockError {
  return permanentError('TOOL_ARGUMENTS_INVALID', `The call cannot be made: it ${problem}.`);
}
