import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node';
import { firstLineOf } from './reporter.ts';

const MINUTE_MS = 60_000;

/**
 * Prints the progress of a full run, whose files can take minutes each: the finished and running files every minute,
 * each failure immediately, and the total at the end.
 */
export class ProgressReporter implements Reporter {
  readonly #runningFiles = new Map<TestModule, { path: string; startedMs: number; testCount: number }>();
  #root = '';
  #startedMs = 0;
  #fileCount = 0;
  #endedFileCount = 0;
  #testCount = 0;
  #failedTestCount = 0;
  #timer: NodeJS.Timeout | undefined;

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#startedMs = Date.now();
    this.#fileCount = specifications.length;
    this.#timer = setInterval(() => this.#print(), MINUTE_MS).unref();
  }

  onTestModuleStart(module: TestModule): void {
    const path = relative(this.#root, module.moduleId);
    this.#runningFiles.set(module, { path, startedMs: Date.now(), testCount: 0 });
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state === 'skipped') return;
    this.#testCount += 1;
    const file = this.#runningFiles.get(test.module);
    if (file) file.testCount += 1;
    if (state !== 'failed') return;
    this.#failedTestCount += 1;
    process.stdout.write(
      `Failed: ${file?.path ?? test.module.moduleId}: ${test.fullName}: ${firstLineOf(errors)}\n`,
    );
  }

  onTestModuleEnd(module: TestModule): void {
    this.#runningFiles.delete(module);
    this.#endedFileCount += 1;
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
    process.stdout.write(`\n${this.#formatSummary()}\n`);
  }

  #print(): void {
    const now = Date.now();
    const runningLines = [...this.#runningFiles.values()].map(
      ({ path, startedMs, testCount }) =>
        `  ${path}: ${testCount} tests in ${formatMinutes(now - startedMs)} minutes`,
    );
    process.stdout.write(`${[this.#formatSummary(), ...runningLines].join('\n')}\n`);
  }

  #formatSummary(): string {
    const files = `${this.#endedFileCount} of ${this.#fileCount} files`;
    const duration = formatMinutes(Date.now() - this.#startedMs);
    return `${files}, ${this.#testCount} tests, ${this.#failedTestCount} failed, in ${duration} minutes.`;
  }
}

function formatMinutes(ms: number): string {
  return (ms / MINUTE_MS).toFixed(1);
}
