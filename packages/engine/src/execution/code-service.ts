import type { FunctionJob, Sandbox, SandboxOptions, SandboxStats } from '@heddle/sandbox';
import type { CodeSandbox } from '../executors/services.ts';

/** Code that is about to come. */
export type CodeAhead = Pick<FunctionJob, 'language' | 'image'>;

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

  /** The sandbox for one tenant's code, behind a gate that lets only so many jobs in at once. */
  async gated(
    gate: <T>(work: () => Promise<T>) => Promise<T>,
    tenant: string | undefined,
  ): Promise<CodeSandbox> {
    const sandbox = this.sandbox ?? (await this.start());
    const whose = tenant === undefined ? {} : { tenant };
    return {
      run: (job) => gate(() => sandbox.run({ ...job, ...whose })),
      evaluate: (job) => gate(() => sandbox.evaluate({ ...job, ...whose })),
    };
  }

  /** Has processes ready that take a while to start, and that a run will ask for. What keeps them from starting is told to its jobs. */
  async warm(jobs: readonly CodeAhead[], tenant: () => Promise<string | undefined>): Promise<void> {
    try {
      const sandbox = await this.start();
      const whose = await tenant();
      for (const job of jobs) await sandbox.warm({ ...job, ...(whose !== undefined && { tenant: whose }) });
    } catch {
      // The job that needs it finds out the same.
    }
  }

  /** How the sandbox stands; null before the first code. */
  stats(): SandboxStats | null {
    return this.sandbox?.stats() ?? null;
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
