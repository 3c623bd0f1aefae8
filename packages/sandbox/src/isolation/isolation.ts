import type { Confinement } from './confine.ts';
import {
  isAtLeast,
  resolveIsolation,
  type IsolationLevel,
  type IsolationOptions,
  type ResolvedIsolation,
} from './options.ts';
import { probeOnce, type Probe, type ProbeResult } from './probe.ts';
import type { IsolationReport } from './report.ts';

/**
 * Determines the isolation level of this host, and why no higher level is available: runs bubblewrap, setpriv and
 * prlimit, and a process that tries to escape. Runs once per process and set of options; takes about 0.1 s.
 * @throws SandboxError INVALID_OPTION.
 */
export async function probeIsolation(
  options: IsolationOptions & { readonly execPath?: string } = {},
): Promise<IsolationReport> {
  const { execPath = process.execPath, ...isolationOptions } = options;
  return (await probeOnce(resolveIsolation(isolationOptions), execPath).result).report;
}

/** The isolation of one sandbox, determined by probing its host. */
export class Isolation {
  readonly #options: ResolvedIsolation;
  readonly #execPath: string;
  #probe: Probe | undefined;
  #result: ProbeResult | undefined;

  constructor(options: IsolationOptions | undefined, execPath: string) {
    this.#options = resolveIsolation(options);
    this.#execPath = execPath;
  }

  get isProbed(): boolean {
    return this.#result !== undefined;
  }

  /**
   * Starts to probe the host. Returns whether the host appears to reach the minimum, so that a process can be started
   * in the meantime.
   */
  startProbe(): boolean {
    this.#probe ??= probeOnce(this.#options, this.#execPath);
    return isAtLeast(this.#probe.expectedConfinement.level, this.#options.minimum);
  }

  /** Waits for the probe. Returns whether processes that were started in the meantime are confined correctly. */
  async waitForProbe(): Promise<boolean> {
    this.startProbe();
    const { expectedConfinement, result } = this.#probe as Probe;
    this.#result = await result;
    return this.#result.confinement === expectedConfinement && this.refusal === undefined;
  }

  /** The isolation level; undefined before it is determined. */
  get level(): IsolationLevel | undefined {
    return this.#result?.report.level;
  }

  /** Why no job may run here; undefined if jobs may run, or if the level is not determined yet. */
  get refusal(): string | undefined {
    if (this.#result === undefined) return undefined;
    const { level, reasons } = this.#result.report;
    const { minimum } = this.#options;
    if (isAtLeast(level, minimum)) return undefined;
    const reason = (reasons[minimum] ?? []).join(' ');
    return `The sandbox reaches the isolation level ${level}, and ${minimum} is the minimum. ${reason}`;
  }

  /** How processes are started. Before the probe ends this is the expected confinement, and processes get no jobs. */
  get confinement(): Confinement {
    this.#probe ??= probeOnce(this.#options, this.#execPath);
    return this.#result?.confinement ?? this.#probe.expectedConfinement;
  }
}
