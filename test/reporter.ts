import { relative, sep } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { readCpuMs } from './cpu-time.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The tests of a file that a quick run or this system skips (`reportSkipped` of test/support/scale.ts). */
    skippedTests?: readonly string[];
  }
}

/** Patterns of the files that a quick run skips, each with the reason. */
type ExcludedFiles = Readonly<Record<string, string>>;

/**
 * Prints the minutes of tests by folder, the files with the most CPU time, the tests that passed only at their second
 * attempt, the skipped tests (on this system, or because only `npm run test:full` runs them), and the failed tests.
 * When the process exits, it prints the CPU time.
 */
export class FolderReporter implements Reporter {
  readonly #seed: string;
  /** Undefined in a full run. */
  readonly #excludedFiles: ExcludedFiles | undefined;
  #vitest: Vitest | undefined;

  constructor(seed: string, excludedFiles: ExcludedFiles | undefined) {
    this.#seed = seed;
    this.#excludedFiles = excludedFiles;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    // At the exit, because the time of a worker is counted only after the worker has ended.
    process.once('exit', () => {
      const ms = readCpuMs();
      if (ms !== undefined)
        process.stdout.write(`${formatMinutes(ms)} minutes of CPU time, ${COUNTED_PROCESSES}.\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const root = this.#vitest?.config.root ?? '';
    const files = modules.map((module) => ({ module, path: relative(root, module.moduleId) }));
    const lines = ['', 'Minutes of tests, by folder:', ...formatMinutesByFolder(files)];
    lines.push(...formatExpensiveFiles(files));
    const flakyTests = files.flatMap(formatFlakyTests);
    if (flakyTests.length > 0) lines.push('', 'Passed only at the second attempt:', ...flakyTests);
    const skippedTests = formatSkippedTests(files);
    if (this.#excludedFiles) lines.push('', ...formatQuickRun(skippedTests, this.#excludedFiles));
    else if (skippedTests.length > 0) lines.push('', 'Skipped on this system:', ...skippedTests);
    lines.push('', `The seed of the samples was HEDDLE_SAMPLE_SEED=${this.#seed}.`);
    const failures = files.flatMap(formatFailures);
    // Last, because a log of CI is often read only from its end.
    if (failures.length > 0) lines.push('', 'Failed:', ...failures);
    lines.push('');
    process.stdout.write(lines.join('\n'));
  }
}

/** The processes that Linux includes in the CPU time of the run. */
const COUNTED_PROCESSES =
  'with all processes that ended before their parents (not PostgreSQL, which ends after the run)';

/** Number of the files with the most CPU time that are listed. */
const MAX_LISTED_FILES = 10;

interface TestFile {
  readonly module: TestModule;
  readonly path: string;
}

function formatMinutesByFolder(files: readonly TestFile[]): string[] {
  const totals = new Map<string, number>();
  let total = 0;
  for (const { module, path } of files) {
    const folder = path.split(sep).slice(0, -1).slice(0, 2).join('/');
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    const ms = duration + collectDuration + setupDuration;
    totals.set(folder, (totals.get(folder) ?? 0) + ms);
    total += ms;
  }
  const rows = [...totals].toSorted(([, a], [, b]) => b - a);
  return [...rows, ['total', total] as const].map(
    ([folder, ms]) => `${formatMinutes(ms).padStart(6)}  ${folder}`,
  );
}

/**
 * Returns lines about the files with the most CPU time. The time of a file includes the ended processes that the
 * file has waited for, but not shared servers. Without /proc, returns no lines.
 */
function formatExpensiveFiles(files: readonly TestFile[]): string[] {
  const timedFiles = files.flatMap(({ module, path }) => {
    const { cpuMs: ms } = module.meta();
    return ms === undefined ? [] : [{ path, ms }];
  });
  if (timedFiles.length === 0) return [];
  const total = timedFiles.reduce((sum, { ms }) => sum + ms, 0);
  const mostExpensiveFiles = timedFiles.toSorted((a, b) => b.ms - a.ms).slice(0, MAX_LISTED_FILES);
  return [
    '',
    `Seconds of CPU time of the most expensive files (all ${timedFiles.length} took ${formatMinutes(total)} minutes):`,
    ...mostExpensiveFiles.map(({ path, ms }) => `${(ms / 1000).toFixed(1).padStart(6)}  ${path}`),
  ];
}

function formatMinutes(ms: number): string {
  return (ms / 60_000).toFixed(1);
}

function formatFlakyTests({ module, path }: TestFile): string[] {
  return [...module.children.allTests()]
    .filter((test) => test.diagnostic()?.flaky)
    .map((test) => `  ${path}: ${test.fullName}`);
}

/** Returns the first line of the message of the first error, or an empty string if there are no errors. */
export function firstLineOf(errors: readonly { message: string }[] = []): string {
  return errors[0]?.message.split('\n', 1)[0] ?? '';
}

/** Returns a line for each failed test of a file, and for each error of the file outside of its tests. */
function formatFailures({ module, path }: TestFile): string[] {
  const tests = [...module.children.allTests('failed')].map((test) => ({
    name: test.fullName,
    errors: test.result().errors,
  }));
  const fileErrors =
    module.errors().length > 0 ? [{ name: 'outside of its tests', errors: module.errors() }] : [];
  return [...tests, ...fileErrors].map(({ name, errors }) => `  ${path}: ${name}: ${firstLineOf(errors)}`);
}

function formatSkippedTests(files: readonly TestFile[]): string[] {
  return files.flatMap(({ module, path }) =>
    (module.meta().skippedTests ?? []).map((test) => `  ${path}: ${test}`),
  );
}

function formatQuickRun(skippedTests: readonly string[], excludedFiles: ExcludedFiles): string[] {
  return [
    'Skipped in this quick run; `npm run test:full` runs it (`npm run test:full -- <path>` a part of it):',
    ...Object.entries(excludedFiles).map(([path, reason]) => `  ${path}: ${reason}`),
    ...skippedTests,
    '  property tests run fewer cases, soak tests are shorter',
  ];
}
