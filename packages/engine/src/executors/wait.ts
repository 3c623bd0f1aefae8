import { BlockError, own } from '@heddle/core/blocks';
import type { BlockContext, BlockExecutor, BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { asText, isOn } from './values.ts';

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['seconds', 1000],
  ['minutes', 60_000],
  ['hours', 3_600_000],
  ['days', 86_400_000],
]);

/** The largest time a date can name. */
const LAST_MS = 8.64e15;

/** Waits for a time, any length: the run sleeps and nothing is held open. */
export const waitExecutor: BlockExecutor = {
  types: ['wait'],
  class: 'wait',
  execute: (context) => waitFor(context),
};

function waitFor(context: BlockContext): BlockResult {
  const fields = context.fields();
  const suspends = isOn(own(fields, 'async'));
  const unit = unitOf(fields, suspends);
  const waitDuration = Math.round(amountOf(own(fields, 'timeValue')) * unit);
  const waitUntilMs = context.clock.now() + waitDuration;
  if (waitUntilMs > LAST_MS)
    throw new BlockError('WAIT_INVALID', 'The wait is longer than a date can express.', { retryable: false });
  const resumeAt = new Date(waitUntilMs).toISOString();
  return {
    waitUntilMs,
    waiting: { waitDuration, status: 'waiting', resumeAt },
    output: { waitDuration, status: 'completed', ...(suspends ? { resumeAt } : {}) },
  };
}

function amountOf(value: Json | undefined): number {
  const text = asText(value).trim();
  const amount = text === '' ? 10 : Number(text);
  if (Number.isFinite(amount) && amount > 0) return amount;
  throw new BlockError('WAIT_INVALID', `The wait of "${text}" is not a number above 0.`, {
    retryable: false,
  });
}

function unitOf(fields: JsonObject, suspends: boolean): number {
  const unit =
    asText(own(fields, suspends ? 'timeUnitLong' : 'timeUnit')).trim() || (suspends ? 'minutes' : 'seconds');
  const ms = UNIT_MS.get(unit);
  if (ms === undefined)
    throw new BlockError(
      'WAIT_INVALID',
      `The unit "${unit}" of the wait is unknown: use ${[...UNIT_MS.keys()].join(', ')}.`,
      { retryable: false },
    );
  if (suspends && unit === 'seconds') {
    throw new BlockError(
      'WAIT_INVALID',
      'An async wait cannot be given in seconds: use minutes, hours or days.',
      { retryable: false },
    );
  }
  return ms;
}
