import type { Confinement } from '../isolation/confine.ts';
import { resolveIsolation, type IsolationOptions } from '../isolation/options.ts';
import { probeOnce, type Probed } from '../isolation/probe.ts';

/** The host as native code needs it: confined by the level `strict`, or not at all. */
export class NativeHost {
  readonly execPath: string;
  readonly #options: IsolationOptions | undefined;

  constructor(options: IsolationOptions | undefined, execPath: string) {
    this.#options = options;
    this.execPath = execPath;
  }

  /** Why nothing native runs here, in sentences; null where it does. */
  async refusal(): Promise<string | null> {
    const { report } = await this.#probe();
    if (report.level === 'strict') return null;
    const why = report.reasons.strict ?? [`The option isolation.level is ${report.level}.`];
    return `Native code needs the isolation level strict, and this host confines by ${report.level}. ${why.join(' ')}`;
  }

  /** How processes are started. Throws where the level is not reached. */
  async confinement(): Promise<Confinement> {
    const refusal = await this.refusal();
    if (refusal !== null) throw new Error(refusal);
    return (await this.#probe()).confinement;
  }

  #probe(): Promise<Probed> {
    return probeOnce(resolveIsolation(this.#options), this.execPath).probed;
  }
}
