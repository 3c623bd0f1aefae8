import type { Confinement } from '../isolation/confine.ts';
import { resolveIsolation, type IsolationOptions } from '../isolation/options.ts';
import { probeOnce, type ProbeResult } from '../isolation/probe.ts';

/** Checks whether this host can run native code, which requires the isolation level `strict`. */
export class NativeHost {
  readonly execPath: string;
  readonly #options: IsolationOptions | undefined;

  constructor(options: IsolationOptions | undefined, execPath: string) {
    this.#options = options;
    this.execPath = execPath;
  }

  /** Returns why no native code can run here, in sentences; undefined if it can. */
  async findRefusal(): Promise<string | undefined> {
    const { report } = await this.#probe();
    if (report.level === 'strict') return undefined;
    const reasons = report.reasons.strict ?? [`The option isolation.level is ${report.level}.`];
    return `Native code needs the isolation level strict, and this host reaches ${report.level}. ${reasons.join(' ')}`;
  }

  /** Returns how processes are confined. Throws if no native code can run here. */
  async getConfinement(): Promise<Confinement> {
    const refusal = await this.findRefusal();
    if (refusal !== undefined) throw new Error(refusal);
    return (await this.#probe()).confinement;
  }

  #probe(): Promise<ProbeResult> {
    return probeOnce(resolveIsolation(this.#options), this.execPath).result;
  }
}
