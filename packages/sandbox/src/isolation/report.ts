import type { IsolationLevel } from './level.ts';

/** One thing that was looked at. */
export interface IsolationCheck {
  readonly name: string;
  /** `off`: it confines no process, and no level needs it. */
  readonly result: 'ok' | 'failed' | 'off';
  /** What was found, in a sentence. */
  readonly found: string;
  /** What a person can do about it. */
  readonly remedy?: string;
}

/** The level that this host reaches, and why it reaches none above. */
export interface IsolationReport {
  readonly level: IsolationLevel;
  readonly checks: readonly IsolationCheck[];
  /** For each level that is not reached, the reasons, in sentences. */
  readonly reasons: Readonly<Partial<Record<IsolationLevel, readonly string[]>>>;
}

/** A check as a sentence with its remedy. */
export function sentence({ found, remedy }: IsolationCheck): string {
  return remedy === undefined ? `${found}.` : `${found}: ${remedy}.`;
}
