import type { DefinitionStore, Entry, RunStore, ValueStore } from '@heddle/core';
import type { ControlStore } from './control.ts';

/** A run store whose journals can be followed while they grow. */
export interface TailableRunStore extends RunStore {
  /** Entries of the journal after `afterSeq`, in order; all of them for -1. */
  tail(runId: string, afterSeq: number): Promise<Entry[]> | Entry[];
}

/** What `append` saves with its entries. */
export type RunProjection = NonNullable<Parameters<RunStore['append']>[2]>;

/** What processes that work on the same runs share. */
export interface SharedStores {
  readonly runs: TailableRunStore;
  readonly definitions: DefinitionStore;
  readonly values: ValueStore;
  /** Finishes what is under way and gives everything free. Later calls fail with ENGINE_CLOSED. */
  close(): Promise<void> | void;
}

/** Everything that one data folder, or the memory of one process, keeps. */
export interface Stores extends SharedStores {
  readonly control: ControlStore;
  /** Of the owner of a folder: tells visitors that it runs only new runs and these earlier ones. */
  recordOpenedRuns?(runIds: readonly string[]): void;
  /** Writes what is under way, closes the files and gives the data folder free. Later writes fail with ENGINE_CLOSED. */
  close(): void;
}

/**
 * What a commit survives: `process`, the death of the process at any moment; `power`, that of the machine too
 * (one flush of the disk for each commit).
 */
export type Durability = 'process' | 'power';
