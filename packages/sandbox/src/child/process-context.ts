import type { ChildMessage } from '../protocol.ts';
import type { Realms } from './realms.ts';

/** What the process provides to its jobs. */
export interface ProcessContext {
  readonly realms: Realms;
  /** Milliseconds spent in guests since the process began. */
  busyMs: number;
  send(report: ChildMessage): void;
  /** Tells the supervisor which job's code runs next, if it does not know. */
  announce(id: number): void;
  ended(id: number, report: Omit<Extract<ChildMessage, { t: 'done' }>, 't' | 'late' | 'next' | 'rssMiB'>): void;
}
