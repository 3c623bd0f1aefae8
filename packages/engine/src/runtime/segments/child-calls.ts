import type { NewRun } from '@heddle/core';
import type { ChildOutcome, ChildRequest } from '../../executors/services.ts';
import { childOutcomeOf } from '../../execution/child-outcome.ts';
import { childFault, childRequest, childRunId, findChildRun } from '../../execution/child-runs.ts';
import type { ChildAttempt } from '../../execution/child-runs.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { isEnded } from '../../store/journal.ts';
import { recordedRun, recordStart } from './recording.ts';
import type { Recorded } from './recording.ts';

/** A block that waits for a child run. */
export interface ChildCalled extends Recorded {
  at: readonly number[];
  try: number;
}

/** The child runs that blocks call for, where another place runs them. */
export class Calls {
  private readonly parts: RuntimeParts;

  constructor(parts: RuntimeParts) {
    this.parts = parts;
  }

  /** How the child of this attempt has ended; undefined when it has not. */
  async outcome(parent: NewRun, child: ChildAttempt): Promise<ChildOutcome | undefined> {
    const { runs } = this.parts.stores;
    try {
      const record = await runs.record(childRunId(parent, child));
      if (!record || !isEnded(record.status)) return undefined;
      const known = await findChildRun(runs, parent, child);
      return known && (await childOutcomeOf(known.runId, record, this.parts.values));
    } catch (error) {
      throw childFault(error);
    }
  }

  /** Records the child; the same one again when it is recorded already. Throws what the caller has done wrong, or a Fault. */
  async record(parent: NewRun, child: ChildAttempt & { request: ChildRequest }): Promise<Recorded> {
    try {
      return (await this.known(parent, child)) ?? (await this.create(parent, child));
    } catch (error) {
      throw childFault(error);
    }
  }

  private async known(parent: NewRun, child: ChildAttempt): Promise<Recorded | undefined> {
    const header = await findChildRun(this.parts.stores.runs, parent, child);
    return header && recordedRun(this.parts, header);
  }

  private async create(parent: NewRun, child: ChildAttempt & { request: ChildRequest }): Promise<Recorded> {
    const fresh = await recordStart(this.parts, await childRequest(this.parts.definitions, parent, child));
    // Else another worker was faster.
    return fresh ?? ((await this.known(parent, child)) as Recorded);
  }
}
