import { isJsonObject, getOwn } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { RetryPolicy } from '../machine/skeleton.ts';
import { KnownKeys } from '../schema/known-keys.ts';
import type { Block } from '../schema/workflow.ts';
import { diagnostic } from './diagnostics.ts';
import type { DiagnosticSink } from './diagnostics.ts';
import { isTriggerType } from './types.ts';

interface Range {
  min: number;
  max: number;
  fallback: number;
}

/** Maximum values of retry settings: for workflows written for Heddle, and for imported ones. */
const LIMITS_BY_DIALECT = {
  heddle: { tries: 100, waitMs: 86_400_000 },
  import: { tries: 5, waitMs: 5000 },
};
const RETRY_KEYS = new KnownKeys([
  'enabled',
  'maxTries',
  'waitBetweenTriesMs',
  'backoffCoefficient',
  'maxWaitMs',
  'jitter',
]);
const MAX_BACKOFF = 100;
const MAX_WAIT_MS = 86_400_000;

/**
 * Returns the retry policy of a block, clamped to the allowed range; undefined if the block has one attempt only.
 * Workflows written for Heddle have wider ranges.
 */
export function retryPolicy(
  block: Block,
  dialect: 'import' | 'heddle',
  sink: DiagnosticSink,
): RetryPolicy | undefined {
  const policy = block.retry;
  if (!isJsonObject(policy)) return undefined;
  RETRY_KEYS.check(policy, { path: ['blocks', block.id, 'retry'], blockId: block.id }, sink);
  if (getOwn(policy, 'enabled') !== true) return undefined;
  if (isNeverRetried(block)) {
    sink.push(
      diagnostic('RETRY_IGNORED', {
        blockId: block.id,
        path: ['blocks', block.id, 'retry'],
        message: `"${block.name}" has a retry policy, but triggers, containers and pauses are never retried.`,
        hint: 'Remove the policy.',
      }),
    );
    return undefined;
  }
  const limits = LIMITS_BY_DIALECT[dialect];
  const read = (key: string, range: Range): number => readNumber(block, policy, { key, ...range }, sink);
  const maxTries = Math.floor(read('maxTries', { min: 2, max: limits.tries, fallback: 3 }));
  const waitMs = Math.floor(read('waitBetweenTriesMs', { min: 0, max: limits.waitMs, fallback: 1000 }));
  const backoff = read('backoffCoefficient', { min: 1, max: MAX_BACKOFF, fallback: 1 });
  const defaultMaxWaitMs = backoff === 1 ? waitMs : Math.max(waitMs, 60_000);
  const maxWaitMs = Math.floor(
    read('maxWaitMs', { min: waitMs, max: MAX_WAIT_MS, fallback: defaultMaxWaitMs }),
  );
  const jitter = read('jitter', { min: 0, max: 1, fallback: 0 });
  return { backoff, jitter, maxTries, maxWaitMs, waitMs };
}

function isNeverRetried(block: Block): boolean {
  const { type } = block;
  return (
    block.trigger ||
    isTriggerType(type) ||
    type === 'loop' ||
    type === 'parallel' ||
    type === 'human_in_the_loop'
  );
}

function readNumber(
  block: Block,
  policy: JsonObject,
  range: Range & { key: string },
  sink: DiagnosticSink,
): number {
  const { key, min, max, fallback } = range;
  const value = getOwn(policy, key);
  if (value == null) return fallback;
  const number = typeof value === 'number' ? value : Number.NaN;
  const clamped = Number.isNaN(number) ? fallback : Math.min(max, Math.max(min, number));
  if (clamped !== number) {
    sink.push(
      diagnostic('RETRY_CLAMPED', {
        blockId: block.id,
        path: ['blocks', block.id, 'retry', key],
        message: `${key} of "${block.name}" is ${JSON.stringify(value)}; ${clamped} is used.`,
        hint: `Use a number from ${min} to ${max}.`,
      }),
    );
  }
  return clamped;
}
