import { atMost } from '../rows.ts';
import type { Line } from '../rows.ts';

function line(name: string, most: number): Line {
  const target = `at most ${most} ms`;
  return { name, unit: 'ms', peers: [], floor: false, target, met: ({ ours }) => atMost(ours, most) };
}

/** Times of the pages of the Studio in Chromium, from navigation to visible content. */
export const STUDIO_ROWS = {
  paint: line('first paint of the list of runs', 1000),
  open: line('open a run of 2,000 blocks', 1000),
  pan: line('95th percentile of frames while 2,000 blocks are moved', 20),
} as const;
