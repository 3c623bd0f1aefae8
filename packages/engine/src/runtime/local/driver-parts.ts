import type { Clock } from '@heddle/core';
import type { Command, Replica } from '@heddle/core/run';
import type { AppliedEntry } from '../../records/fold.ts';

/** What a driver drives, and what it drives it with. */
export interface DriverParts {
  replica: Replica;
  clock: Clock;
  /** Writes entries so that they outlive what the deployment promises to survive. */
  append(batch: readonly AppliedEntry[]): Promise<void> | void;
  /** Carries out a command; its answer comes back by `post`. */
  perform(command: Command): void;
  /** Entries that are written now, before their commands are carried out. */
  observe(batch: readonly AppliedEntry[]): void;
  /** Something else may happen before more is fed. */
  waits(): void;
  /** The journal cannot be written: the driver is to be stopped, and the run goes on from its journal later. */
  broken(error: unknown): void;
  /** Nothing is left to feed. */
  settled(): void;
}
