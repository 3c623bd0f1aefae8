import type { Report } from '../protocol.ts';
import type { Realms } from './realms.ts';

/** What a job needs of its process. */
export interface Floor {
  readonly realms: Realms;
  /** Milliseconds spent in guests since the process began. */
  busyMs: number;
  send(report: Report): void;
  /** Tells the supervisor whose code is about to run, where that is not known. */
  announce(id: number): void;
  ended(id: number, report: Omit<Extract<Report, { t: 'done' }>, 't' | 'late' | 'next' | 'rssMiB'>): void;
}
