import type { ChildMessage } from '../protocol.ts';
import type { Realms } from './realms.ts';

/** Services of the process for its jobs. */
export interface ProcessContext {
  readonly realms: Realms;
  /** Milliseconds spent in guests since the process started. */
  busyMs: number;
  send(report: ChildMessage): void;
  /** Tells the supervisor which job's code runs next, unless it already knows. */
  announce(id: number): void;
  finished(
    id: number,
    report: Omit<Extract<ChildMessage, { t: 'done' }>, 't' | 'late' | 'next' | 'rssMiB'>,
  ): void;
}
