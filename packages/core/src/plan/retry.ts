import { isJsonObject, own } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { RetryPolicy } from '../machine/skeleton.ts';
import { KnownKeys } from '../schema/unknown-keys.ts';
import type { Block } from '../schema/workflow.ts';
import { diagnostic } from './diagnostics.ts';
import type { DiagnosticSink } from './diagnostics.ts';
import { isTriggerType } from './types.ts';

interface Range {
  least: number;
  most: number;
  usual: number;
}

/** Ranges of retry settings: for workflows written for Heddle, and for imported ones. */
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
  const stored = block.retry;
  if (!isJsonObject(stored)) return undefined;
  RETRY_KEYS.check(stored, { path: ['blocks', block.id, 'retry'], blockId: block.id }, sink);
  if (own(stored, 'enabled') !== true) return undefined;
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
  const widest = LIMITS_BY_DIALECT[dialect];
  const read = (key: string, range: Range): number => readNumber(block, stored, { key, ...range }, sink);
  const maxTries = Math.floor(read('maxTries', { least: 2, most: widest.tries, usual: 3 }));
  const waitMs = Math.floor(read('waitBetweenTriesMs', { least: 0, most: widest.waitMs, usual: 1000 }));
  const backoff = read('backoffCoefficient', { least: 1, most: MAX_BACKOFF, usual: 1 });
  const usualMost = backoff === 1 ? waitMs : Math.max(waitMs, 60_000);
  const maxWaitMs = Math.floor(read('maxWaitMs', { least: waitMs, most: MAX_WAIT_MS, usual: usualMost }));
  const jitter = read('jitter', { least: 0, most: 1, usual: 0 });
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
  stored: JsonObject,
  range: Range & { key: string },
  sink: DiagnosticSink,
): number {
  const { key, least, most, usual } = range;
  const value = own(stored, key);
  if (value == null) return usual;
  const number = typeof value === 'number' ? value : Number.NaN;
  const used = Number.isNaN(number) ? usual : Math.min(most, Math.max(least, number));
  if (used !== number) {
    sink.push(
      diagnostic('RETRY_CLAMPED', {
        blockId: block.id,
        path: ['blocks', block.id, 'retry', key],
        message: `${key} of "${block.name}" is ${JSON.stringify(value)}; ${used} is used.`,
        hint: `Use a number from ${least} to ${most}.`,
      }),
    );
  }
  return used;
}
