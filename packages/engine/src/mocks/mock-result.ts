import { BlockError, isJsonObject, own } from '@heddle/core/blocks';
import type { BlockConfig, BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import type { MockValue } from './mocks.ts';

/**
 * What a mocked block gives the `turn`-th time it runs (from 0): its values in turn, the last one again when there are
 * no more. `turn` must come from the record of the run, so that a run that was taken up again goes on where it was.
 * Throws the BlockError of a value with `$error`.
 */
export function mockResult(
  block: Pick<BlockConfig, 'type'>,
  values: readonly MockValue[],
  turn: number,
): BlockResult {
  const value = values[Math.min(turn, values.length - 1)] ?? null;
  const failure = isJsonObject(value) ? own(value, '$error') : undefined;
  if (isJsonObject(failure)) throw mockFailure(failure);
  const output = isJsonObject(value) ? value : fromScalar(block.type, value);
  const port = portOf(block.type, output);
  return port === undefined ? { output } : { output, port };
}

function mockFailure(failure: JsonObject): BlockError {
  const code = own(failure, 'code');
  const message = own(failure, 'message');
  const retryable = own(failure, 'retryable');
  return new BlockError(
    typeof code === 'string' ? code : 'BLOCK_FAILED',
    typeof message === 'string' ? message : 'The mock fails.',
    {
      ...(typeof retryable === 'boolean' ? { retryable } : {}),
    },
  );
}

/** An output is an object; a scalar stands for the main field of the type's output. */
function fromScalar(type: string, value: Json): JsonObject {
  switch (type) {
    case 'function':
      return { result: value, stdout: '' };
    case 'api':
      return { data: value, status: 200, headers: {} };
    default:
      return { content: value };
  }
}

/** The port that a mocked choice takes: the option or route that its output names. */
function portOf(type: string, output: JsonObject): string | undefined {
  const chosen = type === 'condition' ? own(output, 'selectedOption') : own(output, 'selectedRoute');
  if (typeof chosen !== 'string') return undefined;
  if (type === 'condition') return `condition-${chosen}`;
  return type === 'router' || type === 'router_v2' ? `router-${chosen}` : undefined;
}
