import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node';

const MINUTE = 60_000;

/**
 * Prints the progress of a full run, whose files can take minutes each: the finished and running files every minute,
 * failures at once, and the total at the end.
 */
export class ProgressReporter implements Reporter {
  readonly #running = new Map<TestModule, { path: string; since: number; tests: number }>();
  #root = '';
  #started = 0;
  #files = 0;
  #ended = 0;
  #tests = 0;
  #failed = 0;
  #timer: NodeJS.Timeout | undefined;

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#started = Date.now();
    this.#files = specifications.length;
    this.#timer = setInterval(() => this.#print(), MINUTE).unref();
  }

  onTestModuleStart(module: TestModule): void {
    const path = relative(this.#root, module.moduleId);
    this.#running.set(module, { path, since: Date.now(), tests: 0 });
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state === 'skipped') return;
    this.#tests += 1;
    const file = this.#running.get(test.module);
    if (file) file.tests += 1;
    if (state !== 'failed') return;
    this.#failed += 1;
    const [first = ''] = errors?.[0]?.message.split('\n') ?? [];
    process.stdout.write(`Failed: ${file?.path ?? test.module.moduleId}: ${test.fullName}: ${first}\n`);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module);
    this.#ended += 1;
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
    process.stdout.write(`\n${this.#total()}\n`);
  }

  #print(): void {
    const now = Date.now();
    const running = [...this.#running.values()].map(
      ({ path, since, tests }) => `  ${path}: ${tests} tests in ${minutes(now - since)} minutes`,
    );
    process.stdout.write(`${[this.#total(), ...running].join('\n')}\n`);
  }

  #total(): string {
    const files = `${this.#ended} of ${this.#files} files`;
    return `${files}, ${this.#tests} tests, ${this.#failed} failed, in ${minutes(Date.now() - this.#started)} minutes.`;
  }
}

function minutes(ms: number): string {
  return (ms / MINUTE).toFixed(1);
}
