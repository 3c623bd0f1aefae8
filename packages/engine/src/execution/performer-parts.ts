import type { Clock } from '@heddle/core';
import type { BlockConfig, BlockEmission } from '@heddle/core/blocks';
import type { EntryBody, Place, Replica } from '@heddle/core/run';
import type { EngineExecutor, ExecutorServices } from '../executors/services.ts';
import type { RunEnvironment } from './run-environment.ts';
import type { FileReader } from '../files/storage.ts';
import type { Job } from './job.ts';
import type { Reader } from './reference-resolver.ts';
import type { Values } from '../records/values.ts';

/** What a performer works with, and where its answers go. */
export interface PerformerParts {
  replica: Replica;
  workflowId: string;
  clock: Clock;
  values: Values;
  environment: RunEnvironment;
  /** The executor of a block, or its mock: `nth` says how many runs of the block came before. */
  executorOf(block: BlockConfig, nth: () => number): EngineExecutor;
  services(place: Place, reader: Reader, job: Job): ExecutorServices;
  /** Reads files for one block of the run. */
  files: (this: void) => FileReader;
  /** The token of the pause point that a try of a block opens. */
  token: (this: void, place: Place, attempt: number) => string;
  /** Lets at most so many effects run at once. */
  gate<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  post(body: EntryBody): void;
  /** Passes on what a block tells while it runs; absent: nobody hears it. */
  emit?(place: Place, emission: BlockEmission): void;
  /** What stands against the run, and is no failure of a block. */
  broken(error: unknown): void;
}
