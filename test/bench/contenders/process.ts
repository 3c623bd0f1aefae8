import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { BENCH_FOLDER } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender } from '../workload.ts';

/**
 * A JavaScript expression for the peak memory of a process since its program started, in MB. `maxRSS` also includes the
 * memory of the process from which it was forked; only Linux reports `VmHWM`.
 */
const PEAK_MEMORY_EXPRESSION = `process.platform === 'linux'
  ? Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024
  : process.resourceUsage().maxRSS / 1024`;

/** Runs a Node.js process with these arguments and returns its peak memory in MB. Throws unless its exit code is 0. */
export function measurePeakMemory(args: readonly string[], cwd?: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const file = join(folder, 'peak');
  const program = `import { readFileSync, writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(${JSON.stringify(file)}, String(${PEAK_MEMORY_EXPRESSION})));`;
  const preload = `data:text/javascript,${encodeURIComponent(program)}`;
  try {
    const { status } = spawnSync(process.execPath, ['--import', preload, ...args], { cwd, stdio: 'ignore' });
    expectResult(status, 0);
    return Number(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the workloads of a contender that only loads these modules. */
export function createImportWorkloads(
  ...modules: string[]
): Pick<Contender, 'cold start' | 'memory at start'> {
  const program = modules.map((name) => `await import(${JSON.stringify(name)});`).join('\n');
  const args = ['--input-type=module', '-e', `${program}\nprocess.exit(0)`];
  const cwd = BENCH_FOLDER;
  return {
    'cold start': () => ({
      async sample() {
        const startMs = performance.now();
        expectResult(spawnSync(process.execPath, args, { cwd, stdio: 'ignore' }).status, 0);
        return performance.now() - startMs;
      },
    }),
    'memory at start': () => ({ sample: async () => measurePeakMemory(args, cwd) }),
  };
}
