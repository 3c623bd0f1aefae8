import { readdirSync } from 'node:fs';
import { processStat } from '../process-stat.ts';

/** Resource use of a process and all its descendants. */
export interface TreeUsage {
  /** Processor time, including ended processes that were waited for, in milliseconds. */
  readonly cpuMs: number;
  /** Resident memory in MiB; shared pages count once per process. */
  readonly memoryMiB: number;
  readonly processes: number;
}

interface Entry {
  readonly parent: number;
  readonly ticks: number;
  readonly pages: number;
}

/** Length of a kernel clock tick (USER_HZ), which is fixed at 100 per second. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

function readEntry(pid: string): Entry | null {
  const stat = processStat(pid);
  if (stat === null) return null;
  const field = (number: number): number => Number(stat(number));
  return { parent: field(4), ticks: field(14) + field(15) + field(16) + field(17), pages: field(24) };
}

/** Measures the process tree below `root`. */
export function treeUsage(root: number): TreeUsage {
  const entries = new Map<number, Entry>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const entry = readEntry(name);
    if (entry !== null) entries.set(Number(name), entry);
  }
  const children = Map.groupBy(entries, ([, { parent }]) => parent);
  let [ticks, pages, processes] = [0, 0, 0];
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    const entry = entries.get(pid);
    if (entry === undefined) continue;
    processes++;
    ticks += entry.ticks;
    pages += entry.pages;
    pending.push(...(children.get(pid) ?? []).map(([child]) => child));
  }
  return { cpuMs: ticks * TICK_MS, memoryMiB: (pages * PAGE_BYTES) / 2 ** 20, processes };
}
