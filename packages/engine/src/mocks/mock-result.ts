import { BlockError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { BlockConfig, BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import type { MockValue } from './mocks.ts';

/**
 * Returns the result of a mocked block for its execution number `index` (from 0): its values in order, then the last
 * value again. `index` must come from the journal of the run, so that a recovered run continues the order. Throws the
 * BlockError of a value with `$error`.
 */
export function mockResult(
  block: Pick<BlockConfig, 'type'>,
  values: readonly MockValue[],
  index: number,
): BlockResult {
  const value = values[Math.min(index, values.length - 1)] ?? null;
  const failure = isJsonObject(value) ? getOwn(value, '$error') : undefined;
  if (isJsonObject(failure)) throw mockFailure(failure);
  const output = isJsonObject(value) ? value : wrapValue(block.type, value);
  const port = portOf(block.type, output);
  return port === undefined ? { output } : { output, port };
}

function mockFailure(failure: JsonObject): BlockError {
  const code = getOwn(failure, 'code');
  const message = getOwn(failure, 'message');
  const retryable = getOwn(failure, 'retryable');
  return new BlockError(
    typeof code === 'string' ? code : 'BLOCK_FAILED',
    typeof message === 'string' ? message : 'The mock failed.',
    {
      ...(typeof retryable === 'boolean' ? { retryable } : {}),
    },
  );
}

/** Outputs are objects: any other value becomes the main field of an output of this block type. */
function wrapValue(type: string, value: Json): JsonObject {
  switch (type) {
    case 'function':
      return { result: value, stdout: '' };
    case 'api':
      return { data: value, status: 200, headers: {} };
    default:
      return { content: value };
  }
}

/** Returns the port of a mocked condition or router, by the option or route in the output. */
function portOf(type: string, output: JsonObject): string | undefined {
  const selection = type === 'condition' ? getOwn(output, 'selectedOption') : getOwn(output, 'selectedRoute');
  if (typeof selection !== 'string') return undefined;
  if (type === 'condition') return `condition-${selection}`;
  return type === 'router' || type === 'router_v2' ? `router-${selection}` : undefined;
}
