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
 * Determines the isolation level of this host, and why no higher level is available: runs bubblewrap, setpriv and
 * prlimit, and a process that tries to escape. Runs once per process and set of options; takes about 0.1 s.
 * @throws SandboxError INVALID_OPTION.
 */
export async function probeIsolation(
  options: IsolationOptions & { readonly execPath?: string } = {},
): Promise<IsolationReport> {
  const { execPath = process.execPath, ...requested } = options;
  return (await probeOnce(resolveIsolation(requested), execPath).probed).report;
}

/** The isolation of one sandbox, determined by probing its host. */
export class Isolation {
  readonly #requested: ResolvedIsolation;
  readonly #execPath: string;
  #probe: Probe | undefined;
  #probed: Probed | undefined;

  constructor(options: IsolationOptions | undefined, execPath: string) {
    this.#requested = resolveIsolation(options);
    this.#execPath = execPath;
  }

  get isSettled(): boolean {
    return this.#probed !== undefined;
  }

  /**
   * Starts to probe the host. Returns whether the host appears to reach the minimum, so that a process can be started
   * in the meantime.
   */
  begin(): boolean {
    this.#probe ??= probeOnce(this.#requested, this.#execPath);
    return isAtLeast(this.#probe.expected.level, this.#requested.minimum);
  }

  /** Waits for the probe. Returns whether processes that were started in the meantime are confined correctly. */
  async settle(): Promise<boolean> {
    this.begin();
    const { expected, probed } = this.#probe as Probe;
    this.#probed = await probed;
    return this.#probed.confinement === expected && this.refusal === undefined;
  }

  /** The isolation level; undefined before it is determined. */
  get level(): IsolationLevel | undefined {
    return this.#probed?.report.level;
  }

  /** Why no job may run here; undefined if jobs may run. */
  get refusal(): string | undefined {
    if (this.#probed === undefined) return undefined;
    const { level, reasons } = this.#probed.report;
    const { minimum } = this.#requested;
    if (isAtLeast(level, minimum)) return undefined;
    const reason = (reasons[minimum] ?? []).join(' ');
    return `The sandbox reaches the isolation level ${level}, and ${minimum} is the minimum. ${reason}`;
  }

  /** How processes are started. Before the probe ends this is the expected confinement, and processes get no jobs. */
  get confinement(): Confinement {
    this.#probe ??= probeOnce(this.#requested, this.#execPath);
    return this.#probed?.confinement ?? this.#probe.expected;
  }
}
