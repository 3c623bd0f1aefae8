import { EngineError } from '@heddle/core';
import type { NewRun } from '@heddle/core';
import type { Place } from '@heddle/core/run';
import type { ChildOutcome, ChildRequest } from '../executors/services.ts';
import { childOutcomeOf } from '../local/child-outcome.ts';
import { childFault, childRunId } from '../local/children.ts';
import type { RuntimeParts } from '../local/runtime-parts.ts';
import { isEnded } from '../store/journal.ts';
import { recordStart, startOf } from './recording.ts';
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

  /** How the child of this try has ended; undefined when it has not. */
  async outcome(parentId: string, place: Place, attempt: number): Promise<ChildOutcome | undefined> {
    try {
      const runId = childRunId(parentId, place, attempt);
      const record = await this.parts.stores.runs.record(runId);
      if (!record || !isEnded(record.status)) return undefined;
      return await childOutcomeOf(runId, record, this.parts.values);
    } catch (error) {
      throw childFault(error);
    }
  }

  /** Records the child; the same one again when it is recorded already. Throws what the caller has done wrong, or a Fault. */
  async record(
    parent: NewRun,
    { place, request, attempt }: { place: Place; request: ChildRequest; attempt: number },
  ): Promise<Recorded> {
    try {
      return await this.create(parent, { place, request, runId: childRunId(parent.runId, place, attempt) });
    } catch (error) {
      throw childFault(error);
    }
  }

  private async create(
    parent: NewRun,
    { place, request, runId }: { place: Place; request: ChildRequest; runId: string },
  ): Promise<Recorded> {
    const known = await startOf(this.parts, runId);
    if (known) return known;
    const { workflowId } = request.workflow;
    const found = await this.parts.definitions.find(workflowId);
    if (!found) throw new EngineError('WORKFLOW_NOT_FOUND', `The workflow ${workflowId} is gone.`);
    const { plan, version } = found;
    const fresh = await recordStart(this.parts, {
      runId,
      plan,
      version,
      input: request.input,
      start: plan.start,
      mocks: parent.mocks,
      parent: {
        runId: parent.runId,
        block: place.block,
        scope: place.scope,
        depth: (parent.parent?.depth ?? 0) + 1,
      },
    });
    return fresh ?? ((await startOf(this.parts, runId)) as Recorded);
  }
}
