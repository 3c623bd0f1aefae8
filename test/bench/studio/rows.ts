import { atMost } from '../rows.ts';
import type { TableRow } from '../rows.ts';

function tableRow(name: string, max: number): TableRow {
  const target = `at most ${max} ms`;
  return { name, unit: 'ms', peers: [], hasBaseline: false, target, met: ({ ours }) => atMost(ours, max) };
}

/** The rows of the Studio: times of its pages in Chromium. */
export const STUDIO_ROWS = {
  paint: tableRow('first paint of the list of runs', 1000),
  open: tableRow('open a run of 2,000 blocks', 1000),
  pan: tableRow('95th percentile of frame times while a graph of 2,000 blocks is moved', 20),
} as const;
