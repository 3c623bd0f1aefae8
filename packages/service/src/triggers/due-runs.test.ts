import { describe, expect, it } from 'vitest';
import { decideDueRuns, jitterOf } from './due-runs.ts';
import type { DueState } from './due-runs.ts';
import type { SchedulePolicy } from '@heddle/engine/triggers';
import type { ScheduleType } from './types.ts';

const MINUTE_MS = 60_000;

/** Returns a type that is due at whole minutes. */
function minutelyType(policy: Partial<SchedulePolicy> = {}): ScheduleType {
  const nextMinute = (afterMs: number): number => (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
  return {
    kind: 'schedule',
    type: 'schedule',
    parseConfig: () => ({ config: {} }),
    nextDueTime: (_config, afterMs) => nextMinute(afterMs),
    lastDueTime: (_config, { afterMs, untilMs }) => {
      const lastMs = Math.floor(untilMs / MINUTE_MS) * MINUTE_MS;
      return lastMs > afterMs ? lastMs : undefined;
    },
    policyOf: () => ({ jitterMs: 0, missed: 'last', missedLimit: 10, overlap: 'allow', ...policy }),
    inputOf: () => ({}),
  };
}

/** Returns the decision at a minute. Its due times are in minutes. */
function decisionAt(minute: number, policy: Partial<SchedulePolicy>, overrides: Partial<DueState> = {}) {
  const state = {
    config: {},
    dueMs: 10 * MINUTE_MS,
    holdReason: null,
    jitterMs: 0,
    isInProgress: false,
    ...overrides,
  };
  const decision = decideDueRuns({ ...state, type: minutelyType(policy), nowMs: minute * MINUTE_MS });
  if ('heldDueMs' in decision) return { held: decision.heldDueMs / MINUTE_MS };
  return {
    fire: decision.firedDueMs.map((ms) => ms / MINUTE_MS),
    next: (decision.nextMs ?? NaN) / MINUTE_MS,
  };
}

describe('a due time', () => {
  it('that has just been reached starts one run under every policy', () => {
    for (const missed of ['none', 'last', 'all'] as const)
      expect(decisionAt(10.5, { missed }), missed).toEqual({ fire: [10], next: 11 });
  });

  it.each([
    ['none', [], 13],
    ['last', [12], 13],
    ['all', [10, 11, 12], 13],
  ] as const)('that is late and followed by others is handled by the policy: %s', (missed, fire, next) => {
    // The type is due each minute, so the run of the latest due time is not late, and `none` starts it.
    const decision = decisionAt(12.9, { missed }, { jitterMs: 0 });
    expect(decision).toEqual(missed === 'none' ? { fire: [12], next } : { fire, next });
  });

  it('that is late starts no run under "none", even if it is the only one', () => {
    const fixedType: ScheduleType = {
      ...minutelyType({ missed: 'none' }),
      nextDueTime: () => 70 * MINUTE_MS,
      lastDueTime: () => 10 * MINUTE_MS,
    };
    const state = {
      type: fixedType,
      config: {},
      dueMs: 10 * MINUTE_MS,
      holdReason: null,
      jitterMs: 0,
      isInProgress: false,
    } as const;
    expect(decideDueRuns({ ...state, nowMs: 11 * MINUTE_MS })).toEqual({
      firedDueMs: [10 * MINUTE_MS],
      nextMs: 70 * MINUTE_MS,
    });
    expect(decideDueRuns({ ...state, nowMs: 11 * MINUTE_MS + 1 })).toEqual({
      firedDueMs: [],
      nextMs: 70 * MINUTE_MS,
    });
    // A due time that is held because of limits does not count as missed.
    expect(decideDueRuns({ ...state, holdReason: 'limits', nowMs: 20 * MINUTE_MS })).toMatchObject({
      firedDueMs: [10 * MINUTE_MS],
    });
  });

  it('that was missed starts a run if it is among the latest ones, up to the limit', () => {
    expect(decisionAt(500, { missed: 'all', missedLimit: 3 })).toEqual({ fire: [498, 499, 500], next: 501 });
  });

  it('that is no longer in the configuration still starts its run', () => {
    const changedType: ScheduleType = {
      ...minutelyType(),
      nextDueTime: () => 90 * MINUTE_MS,
      lastDueTime: () => undefined,
    };
    const state = {
      type: changedType,
      config: {},
      dueMs: 10 * MINUTE_MS,
      holdReason: null,
      jitterMs: 0,
      isInProgress: false,
    } as const;
    expect(decideDueRuns({ ...state, nowMs: 10 * MINUTE_MS })).toEqual({
      firedDueMs: [10 * MINUTE_MS],
      nextMs: 90 * MINUTE_MS,
    });
  });

  it('is delayed by the jitter', () => {
    expect(decisionAt(12.5, { missed: 'last' }, { jitterMs: 2 * MINUTE_MS })).toEqual({
      fire: [10],
      next: 11,
    });
  });
});

describe('while the previous run has not ended, a due time', () => {
  const isInProgress = true;

  it('starts a run under "allow"', () => {
    expect(decisionAt(10, { overlap: 'allow' }, { isInProgress })).toEqual({ fire: [10], next: 11 });
  });

  it('is skipped under "skip"', () => {
    expect(decisionAt(10, { overlap: 'skip' }, { isInProgress })).toEqual({ fire: [], next: 11 });
    expect(decisionAt(10, { overlap: 'skip' })).toEqual({ fire: [10], next: 11 });
  });

  it('waits under "queue", and is the only one that waits', () => {
    expect(decisionAt(10, { overlap: 'queue' }, { isInProgress })).toEqual({ held: 10 });
    expect(decisionAt(14, { overlap: 'queue' }, { isInProgress, holdReason: 'overlap' })).toEqual({
      held: 10,
    });
    expect(decisionAt(14, { overlap: 'queue' }, { holdReason: 'overlap' })).toEqual({ fire: [10], next: 15 });
  });

  it('starts at most one missed run, unless runs may overlap', () => {
    expect(decisionAt(14, { overlap: 'skip', missed: 'all' })).toEqual({ fire: [14], next: 15 });
    expect(decisionAt(14, { overlap: 'queue', missed: 'all' }, { isInProgress })).toEqual({ held: 14 });
  });
});

describe('the jitter', () => {
  it('is the same for a trigger each time, within its limit, and differs between triggers', () => {
    const type = minutelyType({ jitterMs: 1000 });
    const jitterFor = (block_id: string): number => jitterOf(type, {}, { workflow_id: 'w', block_id });
    const jitters = Array.from({ length: 200 }, (_, index) => jitterFor(`b${index}`));
    expect(jitterFor('b7')).toBe(jitters[7]);
    expect(Math.min(...jitters)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...jitters)).toBeLessThanOrEqual(1000);
    expect(new Set(jitters).size).toBeGreaterThan(100);
    expect(jitterOf(minutelyType(), {}, { workflow_id: 'w', block_id: 'b' })).toBe(0);
  });
});
