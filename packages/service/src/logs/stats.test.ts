import { expect, it } from 'vitest';
import { periodsOf, statsOf, windowOf } from './stats.ts';
import type { StatsRow } from './stats.ts';

const DAY_MS = 86_400_000;

function row(workflow_id: string, segment: number, overrides: Partial<StatsRow> = {}): StatsRow {
  return { workflow_id, segment, total: 1, errors: 0, duration: 100, ended: 1, cost: 0, ...overrides };
}

it('the window is divided into the requested number of periods of at least a minute', () => {
  expect(windowOf(0, DAY_MS, 24)).toMatchObject({ segmentMs: 3_600_000, count: 24 });
  expect(windowOf(0, 600_000, 72)).toMatchObject({ segmentMs: 60_000, count: 10 });
  expect(windowOf(5, 5, 72)).toMatchObject({ segmentMs: 60_000, count: 1 });
  expect(windowOf(0, 500 * 60_000 + 499, 500)).toMatchObject({ segmentMs: 60_000, count: 500 });
});

it('the last period includes the end of the window and the remainder from rounding', () => {
  expect(periodsOf(windowOf(7, 150_007, 2))).toEqual([
    { segment: 0, from: 7, to: 75_007 },
    { segment: 1, from: 75_007, to: 150_008 },
  ]);
  expect(periodsOf(windowOf(0, 500 * 60_000 + 499, 500)).at(-1)).toEqual({
    segment: 499,
    from: 499 * 60_000,
    to: 500 * 60_000 + 500,
  });
});

it('statistics average over ended runs only, and give rates in percent', () => {
  const rows = [
    row('w', 0, { total: 3, errors: 1, duration: 400, ended: 2 }),
    row('w', 1, { total: 1, duration: 0, ended: 0 }),
  ];
  const stats = statsOf(rows, windowOf(0, DAY_MS, 2), new Map([['w', 'Weave']]));
  expect(stats).toMatchObject({ totalRuns: 4, totalErrors: 1, avgLatency: 200 });
  expect(stats.workflows).toMatchObject([
    {
      workflowName: 'Weave',
      totalSuccessful: 3,
      overallSuccessRate: 75,
      segments: [{}, { avgDurationMs: 0 }],
    },
  ]);
});

it('statistics list the workflows with the most runs, fewer if there are many periods, and tell whether some are omitted', () => {
  const rows = Array.from({ length: 300 }, (_, index) => row(`w${index}`, 0, { total: index }));
  const tenPeriods = statsOf(rows, windowOf(0, DAY_MS, 10), new Map());
  expect(tenPeriods.workflows).toHaveLength(200);
  expect(tenPeriods.workflows[0]).toMatchObject({ workflowId: 'w299' });
  expect(tenPeriods.workflowsTruncated).toBe(true);
  expect(statsOf(rows, windowOf(0, DAY_MS, 500), new Map()).workflows).toHaveLength(40);
  expect(statsOf(rows.slice(0, 3), windowOf(0, DAY_MS, 500), new Map()).workflowsTruncated).toBe(false);
});
