import type { RunHeader } from '@heddle/core';
import type { ChildOutcome, ChildRequest } from '../../executors/services.ts';
import {
  childError,
  childOutcome,
  childRequest,
  childRunId,
  findChildRun,
} from '../../execution/child-runs.ts';
import type { ChildAttempt } from '../../execution/child-runs.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { isEnded } from '../../store/journal.ts';
import { readRecordedRun, recordStart } from './recording.ts';
import type { RecordedRun } from './recording.ts';

/** A child run that a block waits for. */
export interface CalledChild extends RecordedRun {
  /** Address of the block. */
  at: readonly number[];
  /** Number of the block's attempt. */
  try: number;
  /** Number of times that the attempt was resumed. */
  resumes?: number;
}

/** Records child runs that other processes will execute, and reads their outcomes. */
export class ChildCalls {
  readonly #dependencies: RuntimeDependencies;

  constructor(dependencies: RuntimeDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the outcome of this attempt's child; undefined if the child has not ended. */
  async outcome(parent: RunHeader, child: ChildAttempt): Promise<ChildOutcome | undefined> {
    const { runs } = this.#dependencies.stores;
    try {
      const record = await runs.record(childRunId(parent, child));
      if (!record || !isEnded(record.status)) return undefined;
      const header = await findChildRun(runs, parent, child);
      return header && (await childOutcome(header.runId, record, this.#dependencies.values));
    } catch (error) {
      throw childError(error);
    }
  }

  /**
   * Records the child, or returns the already recorded child. Throws errors that fail the calling block, or an
   * InfrastructureError.
   */
  async recordChild(
    parent: RunHeader,
    child: ChildAttempt & { request: ChildRequest },
  ): Promise<RecordedRun> {
    try {
      return (await this.#find(parent, child)) ?? (await this.#create(parent, child));
    } catch (error) {
      throw childError(error);
    }
  }

  async #find(parent: RunHeader, child: ChildAttempt): Promise<RecordedRun | undefined> {
    const header = await findChildRun(this.#dependencies.stores.runs, parent, child);
    return header && readRecordedRun(this.#dependencies, header);
  }

  async #create(parent: RunHeader, child: ChildAttempt & { request: ChildRequest }): Promise<RecordedRun> {
    const recordedRun = await recordStart(
      this.#dependencies,
      await childRequest(this.#dependencies.definitions, parent, child),
    );
    // If the id is taken, another worker has recorded the same child.
    return recordedRun ?? ((await this.#find(parent, child)) as RecordedRun);
  }
}
