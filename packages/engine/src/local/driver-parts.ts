import type { Clock } from '@heddle/core';
import type { Applied, Command, Entry, Replica } from '@heddle/core/run';

/** What a driver drives, and what it drives it with. */
export interface DriverParts {
  replica: Replica;
  clock: Clock;
  /** Writes entries so that they outlive what the deployment promises to survive. */
  append(runId: string, entries: readonly Entry[]): Promise<void> | void;
  /** Carries out a command; its answer comes back by `post`. */
  perform(command: Command): void;
  /** What an entry has led to, once it is written. */
  observe(entry: Entry, applied: Applied): void;
  /** The journal cannot be written: the run stops here and goes on from its journal at the next start. */
  broken(error: unknown): void;
  /** Nothing is left to feed. */
  settled(): void;
}
