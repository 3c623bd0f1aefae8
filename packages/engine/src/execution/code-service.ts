import type { FunctionJob, Sandbox, SandboxOptions, SandboxStats } from '@heddle/sandbox';
import type { CodeSandbox } from '../executors/services.ts';

/** A sandbox process that can be started before its first job. */
export type WarmUp = Pick<FunctionJob, 'language' | 'image'>;

/** The engine's sandbox, loaded and started at the first job or warm-up. */
export class CodeService {
  readonly #options: SandboxOptions;
  #starting: Promise<Sandbox> | undefined;
  #sandbox: Sandbox | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
  }

  #start(): Promise<Sandbox> {
    this.#starting ??= import('@heddle/sandbox').then(
      ({ createSandbox }) => (this.#sandbox = createSandbox(this.#options)),
    );
    return this.#starting;
  }

  /** Returns the sandbox for one tenant's code. Its jobs pass through `limiter`. */
  async limitedSandbox(
    limiter: <T>(work: () => Promise<T>) => Promise<T>,
    tenant: string | undefined,
  ): Promise<CodeSandbox> {
    const sandbox = this.#sandbox ?? (await this.#start());
    const tenantOption = tenant === undefined ? {} : { tenant };
    return {
      run: (job) => limiter(() => sandbox.run({ ...job, ...tenantOption })),
      evaluate: (job) => limiter(() => sandbox.evaluate({ ...job, ...tenantOption })),
    };
  }

  /**
   * Starts processes that a run will need and that are slow to start. Never rejects: if a process cannot start, the job
   * that needs it fails.
   */
  async warm(warmUps: readonly WarmUp[], tenant: () => Promise<string | undefined>): Promise<void> {
    try {
      const sandbox = await this.#start();
      const tenantId = await tenant();
      const tenantOption = tenantId === undefined ? {} : { tenant: tenantId };
      for (const warmUp of warmUps) await sandbox.warm({ ...warmUp, ...tenantOption });
    } catch {
      // The job that needs the process fails with the same error.
    }
  }

  /** Returns the sandbox's statistics; null before it is started. */
  stats(): SandboxStats | null {
    return this.#sandbox?.stats() ?? null;
  }

  /** Frees the isolate of a run that has ended. */
  release(runId: string): void {
    this.#sandbox?.release(runId);
  }

  async close(): Promise<void> {
    if (!this.#starting) return;
    await (await this.#starting).close();
  }
}
