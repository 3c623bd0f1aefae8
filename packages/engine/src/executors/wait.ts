import { BlockError, fieldSchemas, getOwn } from '@heddle/core/blocks';
import type { BlockContext, BlockExecutor, BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { asText, isOn } from './values.ts';

const { longWaitUnit, waitAmount, waitUnit } = fieldSchemas;

const UNIT_MS = { seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

/** The last time that a Date can represent. */
const DATE_LIMIT_MS = 8.64e15;

/** Waits for a duration of any length. Meanwhile the block occupies no slot, and a run that only waits is paused. */
export const waitExecutor: BlockExecutor = {
  types: ['wait'],
  class: 'wait',
  execute: (context) => createWaitResult(context),
};

function createWaitResult(context: BlockContext): BlockResult {
  const fields = context.fields();
  const isAsync = isOn(getOwn(fields, 'async'));
  const unitMs = unitMsOf(fields, isAsync);
  const waitDuration = Math.round(amountOf(getOwn(fields, 'timeValue')) * unitMs);
  const waitUntilMs = context.clock.now() + waitDuration;
  if (waitUntilMs > DATE_LIMIT_MS)
    throw invalidWaitError('The end of the wait is beyond the last date that can be represented.');
  const resumeAt = new Date(waitUntilMs).toISOString();
  return {
    waitUntilMs,
    waiting: { waitDuration, status: 'waiting', resumeAt },
    output: { waitDuration, status: 'completed', ...(isAsync ? { resumeAt } : {}) },
  };
}

function amountOf(value: Json | undefined): number {
  const text = asText(value).trim();
  if (text === '') return 10;
  const amount = waitAmount.safeParse(text);
  if (amount.success) return amount.data;
  throw invalidWaitError(`The duration "${text}" of the wait is not a number above 0.`);
}

function unitMsOf(fields: JsonObject, isAsync: boolean): number {
  const text = asText(getOwn(fields, isAsync ? 'timeUnitLong' : 'timeUnit')).trim();
  const unit = waitUnit.safeParse(text || (isAsync ? 'minutes' : 'seconds'));
  if (!unit.success)
    throw invalidWaitError(`The unit "${text}" of the wait is unknown: use ${waitUnit.options.join(', ')}.`);
  if (isAsync && !longWaitUnit.safeParse(unit.data).success)
    throw invalidWaitError('An async wait cannot be given in seconds: use minutes, hours or days.');
  return UNIT_MS[unit.data];
}

function invalidWaitError(message: string): BlockError {
  return new BlockError('WAIT_INVALID', message, { retryable: false });
}
