import { relative, sep } from 'node:path';
import { processStat } from '../packages/sandbox/src/process-stat.ts';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** What a file leaves out of a quick run, or on this system (`leftOut` of test/support/scale.ts). */
    leftOut?: readonly string[];
  }
}

/** Patterns of the files that a quick run does not have, and why. */
type Excluded = Readonly<Record<string, string>>;

/**
 * Prints the minutes of tests by folder, the tests that passed only at their second attempt, what was left out on this system, and,
 * in a quick run, what only `npm run test:full` runs; at the exit the processor time.
 */
export class FolderReporter implements Reporter {
  readonly #seed: string;
  /** Undefined in a full run. */
  readonly #excluded: Excluded | undefined;
  #vitest: Vitest | undefined;

  constructor(seed: string, excluded: Excluded | undefined) {
    this.#seed = seed;
    this.#excluded = excluded;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    // At the exit, because the processes of workers count when they have ended.
    process.once('exit', () => {
      const minutes = processorMinutes();
      if (minutes !== undefined)
        process.stdout.write(`${minutes.toFixed(1)} minutes of processor time, ${COUNTED}.\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const root = this.#vitest?.config.root ?? '';
    const files = modules.map((module) => ({ module, path: relative(root, module.moduleId) }));
    const lines = ['', 'Minutes of tests, by folder:', ...minutesByFolder(files)];
    const repeated = files.flatMap(repeatedTests);
    if (repeated.length > 0) lines.push('', 'Passed only at the second attempt:', ...repeated);
    const left = leftOut(files);
    if (this.#excluded) lines.push('', ...ofQuickRun(left, this.#excluded));
    else if (left.length > 0) lines.push('', 'Left out on this system:', ...left);
    lines.push('', `Samples were drawn with HEDDLE_SAMPLE_SEED=${this.#seed}.`, '');
    process.stdout.write(lines.join('\n'));
  }
}

/** What Linux adds to a process's times: a child when its parent has waited for its end. */
const COUNTED =
  'with all processes that ended before their parents (not PostgreSQL, which ends after the run)';
/** Linux counts in hundredths of a second (USER_HZ). */
const TICKS_PER_MINUTE = 6000;

/** Returns the processor time of this process and of its ended children; undefined where there is no /proc. */
function processorMinutes(): number | undefined {
  const field = processStat('self');
  if (!field) return undefined;
  // utime, stime, and those of children.
  return [14, 15, 16, 17].reduce((sum, each) => sum + Number(field(each)), 0) / TICKS_PER_MINUTE;
}

interface File {
  readonly module: TestModule;
  readonly path: string;
}

function minutesByFolder(files: readonly File[]): string[] {
  const sums = new Map<string, number>();
  let total = 0;
  for (const { module, path } of files) {
    const folder = path.split(sep).slice(0, -1).slice(0, 2).join('/');
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    const ms = duration + collectDuration + setupDuration;
    sums.set(folder, (sums.get(folder) ?? 0) + ms);
    total += ms;
  }
  const rows = [...sums].toSorted(([, a], [, b]) => b - a);
  return [...rows, ['in all', total] as const].map(
    ([folder, ms]) => `${(ms / 60_000).toFixed(1).padStart(6)}  ${folder}`,
  );
}

function repeatedTests({ module, path }: File): string[] {
  return [...module.children.allTests()]
    .filter((test) => test.diagnostic()?.flaky)
    .map((test) => `  ${path}: ${test.fullName}`);
}

function leftOut(files: readonly File[]): string[] {
  return files.flatMap(({ module, path }) =>
    (module.meta().leftOut ?? []).map((what) => `  ${path}: ${what}`),
  );
}

function ofQuickRun(left: readonly string[], excluded: Excluded): string[] {
  return [
    'Left out of this quick run; `npm run test:full` runs it (`npm run test:full -- <path>` a part of it):',
    ...Object.entries(excluded).map(([path, why]) => `  ${path}: ${why}`),
    ...left,
    '  property tests draw fewer cases, soaks are shorter',
  ];
}
