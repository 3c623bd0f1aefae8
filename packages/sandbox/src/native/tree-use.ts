import { readdirSync } from 'node:fs';
import { processStat } from '../process-stat.ts';

/** What a process and all below it have used. */
export interface TreeUse {
  /** Processor time, of ended ones too where somebody waited for them, in milliseconds. */
  readonly cpuMs: number;
  /** Memory that is held now, what several share counted for each, in MiB. */
  readonly memoryMiB: number;
  readonly processes: number;
}

interface Entry {
  readonly parent: number;
  readonly ticks: number;
  readonly pages: number;
}

/** The kernel tells times in these, whatever its own clock is (USER_HZ). */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

function readEntry(pid: string): Entry | null {
  const stat = processStat(pid);
  if (stat === null) return null;
  const field = (number: number): number => Number(stat(number));
  return { parent: field(4), ticks: field(14) + field(15) + field(16) + field(17), pages: field(24) };
}

/** What the tree of a process uses at this moment. */
export function treeUse(root: number): TreeUse {
  const entries = new Map<number, Entry>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const entry = readEntry(name);
    if (entry !== null) entries.set(Number(name), entry);
  }
  const children = Map.groupBy(entries, ([, { parent }]) => parent);
  let [ticks, pages, processes] = [0, 0, 0];
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    const entry = entries.get(pid);
    if (entry === undefined) continue;
    processes++;
    ticks += entry.ticks;
    pages += entry.pages;
    open.push(...(children.get(pid) ?? []).map(([child]) => child));
  }
  return { cpuMs: ticks * TICK_MS, memoryMiB: (pages * PAGE_BYTES) / 2 ** 20, processes };
}
