import { atMost } from '../rows.ts';
import type { Line } from '../rows.ts';

function line(name: string, max: number): Line {
  const target = `at most ${max} ms`;
  return { name, unit: 'ms', peers: [], hasBaseline: false, target, met: ({ ours }) => atMost(ours, max) };
}

/** The rows of the Studio: times of its pages in Chromium. */
export const STUDIO_ROWS = {
  paint: line('first paint of the list of runs', 1000),
  open: line('open a run of 2,000 blocks', 1000),
  pan: line('95th percentile of frames while 2,000 blocks are moved', 20),
} as const;
