import { EngineError } from '@heddle/core';

/** The windows of caps: calendar hours, days and months, in UTC. */
export const CAP_WINDOWS = ['hour', 'day', 'month'] as const;
export type CapWindow = (typeof CAP_WINDOWS)[number];

/** A cap on the cost in each window: a calendar hour, day or month in UTC. */
export interface WindowedCost {
  dollars: number;
  /** Default: no window; the cap limits the total of all time. */
  per?: CapWindow;
}

/** The caps on the cost of model calls, in dollars. A call that could exceed a cap is not made. */
export interface MaxCost {
  /** One model call. */
  call?: number;
  /** A run, with all its child runs. */
  run?: number;
  /** A conversation of an agent. */
  conversation?: WindowedCost;
  /** All runs of a tenant: in `heddle serve`, a workspace. Runs without a tenant share one cap. */
  tenant?: WindowedCost;
}

interface Amount {
  micros: number;
  per?: CapWindow;
}

/** Caps in millionths of a dollar. */
export interface SpendingCaps {
  call?: Amount;
  run?: Amount;
  conversation?: Amount;
  tenant?: Amount;
}

/** The scope of a cap: the calls whose total cost it limits. */
export interface Cap {
  scope: 'block' | 'call' | 'run' | 'conversation' | 'workspace';
}

const MAX_DOLLARS = 1e9;

/** Returns the caps in millionths of a dollar. Throws OPTIONS_INVALID. */
export function capsOf({ call, run, conversation, tenant }: MaxCost): SpendingCaps {
  return {
    ...(call !== undefined && { call: amountOf('call', { dollars: call }) }),
    ...(run !== undefined && { run: amountOf('run', { dollars: run }) }),
    ...(conversation && { conversation: amountOf('conversation', conversation) }),
    ...(tenant && { tenant: amountOf('tenant', tenant) }),
  };
}

function amountOf(name: string, { dollars, per }: WindowedCost): Amount {
  if (!(dollars >= 0 && dollars <= MAX_DOLLARS))
    throw new EngineError(
      'OPTIONS_INVALID',
      `maxCost.${name} must be a number of dollars from 0 to ${MAX_DOLLARS}, not ${String(dollars)}.`,
    );
  if (per !== undefined && !CAP_WINDOWS.includes(per))
    throw new EngineError('OPTIONS_INVALID', `maxCost.${name}.per must be one of ${CAP_WINDOWS.join(', ')}.`);
  return { micros: Math.round(dollars * 1e6), ...(per !== undefined && { per }) };
}

/** Length of the ISO 8601 text of a window's start. */
const WINDOW_START_CHARS = { hour: 13, day: 10, month: 7 } as const;

/** Returns the calendar window, in UTC, that contains the time: its start, such as `2025-11-30`, and its end. */
export function windowAt(capWindow: CapWindow, nowMs: number): { start: string; endsMs: number } {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const ends = {
    hour: () => Date.UTC(year, month, day, now.getUTCHours() + 1),
    day: () => Date.UTC(year, month, day + 1),
    month: () => Date.UTC(year, month + 1),
  };
  return { start: now.toISOString().slice(0, WINDOW_START_CHARS[capWindow]), endsMs: ends[capWindow]() };
}

/** Returns the scope of a cap, for messages. */
export function describeCapScope(scope: Cap['scope']): string {
  return scope === 'block' ? 'for this block ("maxCost")' : `per ${scope}`;
}

/** Returns an amount for messages, such as $0.0125. */
export function formatDollars(micros: number): string {
  return `$${(micros / 1e6).toFixed(6).replace(/\.?0+$/, '')}`;
}
