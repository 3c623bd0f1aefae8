import type { Sandbox, SandboxOptions } from '@heddle/sandbox';
import type { CodeSandbox } from '../executors/services.ts';

/** The engine's sandbox: loaded and started when the first code is to run. */
export class CodeService {
  private readonly options: SandboxOptions;
  private starting: Promise<Sandbox> | undefined;
  private sandbox: Sandbox | undefined;

  constructor(options: SandboxOptions) {
    this.options = options;
  }

  private start(): Promise<Sandbox> {
    this.starting ??= import('@heddle/sandbox').then(
      ({ createSandbox }) => (this.sandbox = createSandbox(this.options)),
    );
    return this.starting;
  }

  /** The sandbox behind a gate that lets only so many jobs in at once. */
  async gated(gate: <T>(work: () => Promise<T>) => Promise<T>): Promise<CodeSandbox> {
    const sandbox = this.sandbox ?? (await this.start());
    return {
      run: (job) => gate(() => sandbox.run(job)),
      evaluate: (job) => gate(() => sandbox.evaluate(job)),
    };
  }

  /** Has a process of Python ready: it takes a while to start, and a run that has such a block will ask for it. */
  warmPython(): void {
    // What keeps it from starting is told to the first job.
    this.start().then(
      (sandbox) => sandbox.warm('python'),
      () => undefined,
    );
  }

  /** The run has ended: its isolate can go. */
  release(runId: string): void {
    this.sandbox?.release(runId);
  }

  async close(): Promise<void> {
    if (!this.starting) return;
    await (await this.starting).close();
  }
}
