import { EngineError } from '@heddle/core';
import type { RunRecord } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { ChildOutcome } from '../executors/services.ts';
import type { Values } from '../records/values.ts';

/** How a child run that has ended has ended, for the block that called it. */
export async function childOutcomeOf(
  runId: string,
  record: RunRecord | undefined,
  values: Values,
): Promise<ChildOutcome> {
  if (!record) throw new EngineError('RUN_NOT_FOUND', `The child run ${runId} has no record.`);
  if (record.status === 'completed') {
    const output = await values.load(record.output ?? { v: {} });
    return { status: 'completed', runId, output: isJsonObject(output) ? output : {} };
  }
  if (record.status === 'cancelled') return { status: 'cancelled', runId };
  const { error } = record;
  if (!error)
    return { status: 'failed', runId, error: { code: 'BLOCK_FAILED', message: 'The child run failed.' } };
  const { code, message, blockName, details } = error;
  return {
    status: 'failed',
    runId,
    error: {
      code,
      message,
      ...(blockName !== undefined && { blockName }),
      ...(details !== undefined && { details }),
    },
  };
}
