import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node';
import { firstLineOf } from './reporter.ts';

const MINUTE_MS = 60_000;

/**
 * Prints the progress of a full run, whose files can take minutes each: the finished and running files every minute,
 * each failure immediately, and the total at the end.
 */
export class ProgressReporter implements Reporter {
  readonly #running = new Map<TestModule, { path: string; startMs: number; tests: number }>();
  #root = '';
  #startedMs = 0;
  #fileCount = 0;
  #endedFiles = 0;
  #testCount = 0;
  #failedTests = 0;
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
    this.#running.set(module, { path, startMs: Date.now(), tests: 0 });
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state === 'skipped') return;
    this.#testCount += 1;
    const file = this.#running.get(test.module);
    if (file) file.tests += 1;
    if (state !== 'failed') return;
    this.#failedTests += 1;
    process.stdout.write(
      `Failed: ${file?.path ?? test.module.moduleId}: ${test.fullName}: ${firstLineOf(errors)}\n`,
    );
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module);
    this.#endedFiles += 1;
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
    process.stdout.write(`\n${this.#total()}\n`);
  }

  #print(): void {
    const now = Date.now();
    const running = [...this.#running.values()].map(
      ({ path, startMs, tests }) => `  ${path}: ${tests} tests in ${toMinutes(now - startMs)} minutes`,
    );
    process.stdout.write(`${[this.#total(), ...running].join('\n')}\n`);
  }

  #total(): string {
    const files = `${this.#endedFiles} of ${this.#fileCount} files`;
    const duration = toMinutes(Date.now() - this.#startedMs);
    return `${files}, ${this.#testCount} tests, ${this.#failedTests} failed, in ${duration} minutes.`;
  }
}

function toMinutes(ms: number): string {
  return (ms / MINUTE_MS).toFixed(1);
}
