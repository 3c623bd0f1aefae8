import type { Confinement } from './confine.ts';
import {
  isAtLeast,
  resolveIsolation,
  type IsolationLevel,
  type IsolationOptions,
  type ResolvedIsolation,
} from './options.ts';
import { probeOnce, type Probe, type Probed } from './probe.ts';
import type { IsolationReport } from './report.ts';

/**
 * What this host reaches, and why no more: bubblewrap, setpriv and prlimit are run, and a process that tries to break out.
 * Done once per process and question; takes about a tenth of a second.
 * @throws SandboxError INVALID_OPTION.
 */
export async function probeIsolation(
  options: IsolationOptions & { readonly execPath?: string } = {},
): Promise<IsolationReport> {
  const { execPath = process.execPath, ...asked } = options;
  return (await probeOnce(resolveIsolation(asked), execPath).probed).report;
}

/** The isolation of one sandbox, known once its host was probed. */
export class Isolation {
  readonly #asked: ResolvedIsolation;
  readonly #execPath: string;
  #probe: Probe | null = null;
  #probed: Probed | null = null;

  constructor(options: IsolationOptions | undefined, execPath: string) {
    this.#asked = resolveIsolation(options);
    this.#execPath = execPath;
  }

  get isSettled(): boolean {
    return this.#probed !== null;
  }

  /** Begins to probe the host; whether it looks as if it reached the minimum, so that a process may be started meanwhile. */
  begin(): boolean {
    this.#probe ??= probeOnce(this.#asked, this.#execPath);
    return isAtLeast(this.#probe.expected.level, this.#asked.minimum);
  }

  /** Probes the host, the first time; whether processes that were started meanwhile are confined as they have to be. */
  async settle(): Promise<boolean> {
    this.begin();
    const { expected, probed } = this.#probe as Probe;
    this.#probed = await probed;
    return this.#probed.confinement === expected && this.refusal === null;
  }

  /** The level that was reached; null before the first job. */
  get level(): IsolationLevel | null {
    return this.#probed?.report.level ?? null;
  }

  /** Why no job may run here, or null. */
  get refusal(): string | null {
    if (this.#probed === null) return null;
    const { level, reasons } = this.#probed.report;
    const { minimum } = this.#asked;
    if (isAtLeast(level, minimum)) return null;
    const why = (reasons[minimum] ?? []).join(' ');
    return `The sandbox reaches the isolation level ${level}, and ${minimum} is the minimum. ${why}`;
  }

  /** How processes are started; before the host was probed as it looks, and then they get no job. */
  get confinement(): Confinement {
    this.#probe ??= probeOnce(this.#asked, this.#execPath);
    return this.#probed?.confinement ?? this.#probe.expected;
  }
}
