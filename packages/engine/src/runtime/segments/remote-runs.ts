import type { Json, Plan, RunRecord } from '@heddle/core';
import { indexPlan } from '@heddle/core/run';
import type { Address } from '@heddle/core/run';
import { runElsewhere, runIdTaken, runNotFound } from '../../records/run-errors.ts';
import { answerTo, refuse, wasToken } from '../../execution/resume-answer.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import type { RunRequest } from '../../execution/run-start.ts';
import { recordSuspension, latestRecord, storedRecord } from '../../records/stored-record.ts';
import { foldJournal } from '../../records/fold.ts';
import { isEnded } from '../../store/journal.ts';
import type { RunEvent } from '../../types.ts';
import { follow } from '../../records/follow.ts';
import { endAbandoned } from './abandoned.ts';
import type { Timed } from './position.ts';
import { recordStart, startOf } from './recording.ts';
import type { Recorded } from './recording.ts';

/** An answer to a pause point, ready to be handed to whoever keeps the run. */
export interface Answer {
  token: string;
  at: Address;
  entry: Timed;
  /** Entries of the journal in which the pause point was seen open. */
  seq: number;
}

/** What an engine does itself for runs that another place keeps: it records them, reads them, and makes the entries of its callers. */
export class RemoteRuns {
  private readonly parts: RuntimeParts;
  private readonly kept = new Set<string>();

  constructor(parts: RuntimeParts) {
    this.parts = parts;
  }

  /** Claims the run's id and records its beginning. Throws RUN_ID_TAKEN, INPUT_INVALID, OPTIONS_INVALID, and faults of the stores. */
  async record(request: RunRequest): Promise<Recorded> {
    const { plan, runId } = request;
    if (!this.kept.has(plan.hash)) {
      await this.parts.stores.definitions.putPlan(plan.hash, plan as unknown as Json);
      this.kept.add(plan.hash);
    }
    const recorded = await recordStart(this.parts, request);
    if (!recorded) throw runIdTaken(runId);
    return recorded;
  }

  /** Throws RUN_ELSEWHERE for a run that was started by an engine of one process. */
  async expectRemote(runId: string): Promise<void> {
    const header = await this.parts.stores.runs.header(runId);
    if (header && !header.elsewhere) throw runElsewhere(header);
  }

  /** What the run begins with, as it was recorded; undefined: there is no such run. Throws PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT. */
  recorded(runId: string): Promise<Recorded | undefined> {
    return startOf(this.parts, runId);
  }

  /** Says in the run's record why it stands still. */
  stand(runId: string, why: string): Promise<void> {
    return recordSuspension(this.parts, runId, why);
  }

  /** Ends a run that nobody runs any more as cancelled. Throws as `endAbandoned` does. */
  async abandon(runId: string, reason: string | undefined): Promise<void> {
    return endAbandoned(
      this.parts,
      runId,
      reason === undefined ? undefined : await this.redacted(runId, reason),
    );
  }

  /** The text without the secrets that the run's blocks can read. Throws RUN_NOT_FOUND, ENVIRONMENT_UNAVAILABLE. */
  async redacted(runId: string, text: string): Promise<string> {
    const plan = await this.planOf(runId);
    if (!plan) throw runNotFound(runId);
    return (await this.parts.environments.open(plan)).text(text);
  }

  /** The run as it is stored; undefined: there is none. */
  find(runId: string): Promise<RunRecord | undefined> {
    return storedRecord(this.parts, runId);
  }

  /** The plan that the run is pinned to; undefined: there is no such run. */
  async planOf(runId: string): Promise<Plan | undefined> {
    const header = await this.parts.stores.runs.header(runId);
    return header && this.parts.definitions.plan(header.planHash);
  }

  /** What happens in the run from the call on, as it comes into the store. */
  async *events(runId: string): AsyncGenerator<RunEvent> {
    const plan = await this.planOf(runId);
    if (!plan) return;
    const { stores, values, clock } = this.parts;
    const { replica } = foldJournal(runId, plan, await stores.runs.journal(runId));
    yield* follow({ store: stores.runs, values, clock, isServed: () => true }, runId, plan, replica);
  }

  /** The answer `input` to the pause point `token`, or to the only open one; undefined: it was given before. Throws as `Engine.resume` does. */
  async answer(
    runId: string,
    { token, input = {} }: { token?: string; input?: Json },
  ): Promise<Answer | undefined> {
    // A token is known from the moment at which the journal tells of it.
    const record = await latestRecord(this.parts, runId);
    const open =
      record && !isEnded(record.status) ? record.pauses.filter(({ kind }) => kind === 'human') : undefined;
    const point = token === undefined ? onlyOne(open) : open?.find((pause) => pause.token === token);
    if (!record || !point) {
      if (token !== undefined && (await wasToken(this.parts, runId, token, 'resumed'))) return undefined;
      return refuse(this.parts, runId, { open, token });
    }
    const plan = (await this.planOf(runId)) as Plan;
    const output = await answerTo(this.parts, plan, point, input);
    const { keeper } = await this.parts.environments.open(plan);
    const kept = await keeper.keepAll({ input, output }, `The answer to "${point.blockName}"`);
    const { blockId: block, scope } = point;
    return {
      token: point.token,
      seq: record.seq,
      at: indexPlan(plan).addressOf(block, scope),
      entry: { atMs: this.parts.clock.now(), type: 'resumed', block, scope, token: point.token, ...kept },
    };
  }
}

function onlyOne<T>(list: readonly T[] | undefined): T | undefined {
  return list?.length === 1 ? list[0] : undefined;
}
