import { relative, sep } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** What a file leaves out of a quick run (`leftOut` of test/support/scale.ts). */
    leftOut?: readonly string[];
  }
}

/** Patterns of the files that a quick run does not have, and why. */
type Excluded = Readonly<Record<string, string>>;

/**
 * Prints the minutes of tests by folder, the tests that passed only at their second attempt, and, in a quick run, what only
 * `npm run test:full` runs.
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
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const root = this.#vitest?.config.root ?? '';
    const files = modules.map((module) => ({ module, path: relative(root, module.moduleId) }));
    const lines = ['', 'Minutes of tests, by folder:', ...minutesByFolder(files)];
    const repeated = files.flatMap(repeatedTests);
    if (repeated.length > 0) lines.push('', 'Passed only at the second attempt:', ...repeated);
    if (this.#excluded) lines.push('', ...leftOut(files, this.#excluded));
    lines.push('', `Samples were drawn with HEDDLE_SAMPLE_SEED=${this.#seed}.`, '');
    process.stdout.write(lines.join('\n'));
  }
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

function leftOut(files: readonly File[], excluded: Excluded): string[] {
  const lines = files.flatMap(({ module, path }) =>
    (module.meta().leftOut ?? []).map((what) => `  ${path}: ${what}`),
  );
  return [
    'Left out of this quick run; `npm run test:full` runs it (`npm run test:full -- <path>` a part of it):',
    ...Object.entries(excluded).map(([path, why]) => `  ${path}: ${why}`),
    ...lines,
    '  property tests draw fewer cases, soaks are shorter',
  ];
}
