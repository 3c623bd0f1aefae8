import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expectResult } from '../workload.ts';
import type { SelfMeasuringWorkload } from '../workload.ts';
import { measurePeakMemory } from './process.ts';
import { chainOf } from './workflows.ts';

const CLI_PATH = fileURLToPath(new URL('../../../packages/cli/bin/heddle.js', import.meta.url));

function withFolder<T>(callback: (folder: string, args: string[]) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  writeFileSync(join(folder, 'flow.json'), JSON.stringify(chainOf(0)));
  try {
    return callback(folder, [CLI_PATH, 'run', 'flow.json', '--json']);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Measures the milliseconds from the start of the process to the recorded end of the start trigger. */
export function createColdStartWorkload(): SelfMeasuringWorkload {
  const measureOnce = (): number =>
    withFolder((folder, args) => {
      const startMs = Date.now();
      expectResult(spawnSync(process.execPath, args, { cwd: folder, stdio: 'ignore' }).status, 0);
      const db = new DatabaseSync(join(folder, '.heddle', 'heddle.db'));
      const row = db.prepare(`SELECT entry FROM journal WHERE entry LIKE '%"completed"%' LIMIT 1`).get();
      db.close();
      return (JSON.parse(row?.['entry'] as string) as { atMs: number }).atMs - startMs;
    });
  return { sample: async () => measureOnce() };
}

/** Measures the peak memory of the CLI for a run without a sandbox, in MB. */
export function createStartMemoryWorkload(): SelfMeasuringWorkload {
  return { sample: async () => withFolder((folder, args) => measurePeakMemory(args, folder)) };
}
