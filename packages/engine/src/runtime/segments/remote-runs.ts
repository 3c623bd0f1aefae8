import type { Json, RunRecord } from '@heddle/core';
import { indexPlan } from '@heddle/core/run';
import type { Address, Entry } from '@heddle/core/run';
import { hasTokenEntry, rejectResume, resumedOutput } from '../../execution/resume-answer.ts';
import type { StartRequest } from '../../execution/run-start.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { foldJournal, foldRun } from '../../records/fold.ts';
import { runElsewhere, runIdTakenError } from '../../records/run-errors.ts';
import { readDefinition, readRun, readStoredRun, recordSuspension } from '../../records/read-run.ts';
import type { ReadRunOptions } from '../../records/read-run.ts';
import type { RecordWithLogs } from '../../store/stores.ts';
import { isEnded } from '../../store/journal.ts';
import type { RunEvent } from '../../types.ts';
import { eventsAfter, currentPosition, RUN_START } from '../../records/follow.ts';
import type { EventPosition } from '../../records/follow.ts';
import type { TimedEntry } from './position.ts';
import { readRecordedRun, recordStart } from './recording.ts';
import type { RecordedRun } from './recording.ts';

/** The resume of a pause point, ready to be sent to the process that drives the run. */
export interface ResumeAnswer {
  token: string;
  at: Address;
  entry: Extract<TimedEntry, { type: 'resumed' }>;
  /** Number of journal entries when the pause point was found open. */
  seq: number;
}

/**
 * The engine's part in runs that another process drives: records them, reads them, and prepares the entries for
 * requests of callers.
 */
export class RemoteRuns {
  readonly #dependencies: RuntimeDependencies;

  constructor(dependencies: RuntimeDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Records the start of a run. Throws RUN_ID_TAKEN, INPUT_INVALID, OPTIONS_INVALID, ENVIRONMENT_UNAVAILABLE, and
   * errors of the stores.
   */
  async recordStart(request: StartRequest): Promise<RecordedRun> {
    await this.#dependencies.definitions.storePlan(request.plan);
    const run = await recordStart(this.#dependencies, request);
    if (!run) throw runIdTakenError(request.runId);
    return run;
  }

  /** Throws RUN_ELSEWHERE for a run that was started by an engine that executes its runs itself. */
  async requireRemote(runId: string): Promise<void> {
    const header = await this.#dependencies.stores.runs.header(runId);
    if (header && !header.elsewhere) throw runElsewhere(header);
  }

  /**
   * Returns the start of the run; undefined if the run does not exist. Throws PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT.
   */
  async readStart(runId: string): Promise<RecordedRun | undefined> {
    const header = await this.#dependencies.stores.runs.header(runId);
    return header && readRecordedRun(this.#dependencies, header);
  }

  /** Writes the reason why the run does not continue to its record. */
  suspend(runId: string, reason: string): Promise<void> {
    return recordSuspension(this.#dependencies, runId, reason);
  }

  /**
   * Cancels a run that no process executes any more, in its journal, its record and its logs. An ended run does not
   * change. Throws PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT, ENVIRONMENT_UNAVAILABLE, and errors of the stores.
   */
  async cancelAbandonedRun(runId: string, reason: string | undefined): Promise<void> {
    const { runs } = this.#dependencies.stores;
    const header = await runs.header(runId);
    const storedRecord = await runs.record(runId);
    if (!header || (storedRecord && isEnded(storedRecord.status))) return;
    const reasonFields = reason === undefined ? {} : { reason: await this.redact(runId, reason) };
    const plan = await this.#dependencies.definitions.plan(header.planHash);
    const journal = await runs.journal(runId);
    const { runState } = foldJournal(runId, plan, journal);
    const addedEntries: Entry[] = [];
    const add = (body: TimedEntry): void => {
      const entry = { ...body, seq: runState.seq + 1 } as Entry;
      runState.replay(entry);
      addedEntries.push(entry);
    };
    add({ atMs: this.#dependencies.clock.now(), type: 'cancelled', ...reasonFields });
    // No block is running, so the grace period ends immediately.
    const graceTimer = runState
      .pendingCommands()
      .find((command) => command.type === 'timer' && command.timer === 'grace');
    if (graceTimer?.type === 'timer') add({ atMs: graceTimer.dueMs, type: 'fired', timer: 'grace' });
    await runs.upsert(runId, addedEntries);
    const { record, logs } = foldRun({ header, plan, suspensionReason: undefined }, [
      ...journal,
      ...addedEntries,
    ]);
    await runs.saveRecord(record, logs);
  }

  /**
   * Returns the text without the secrets that the run's blocks can read. Throws RUN_NOT_FOUND, PLAN_FORMAT_UNSUPPORTED,
   * JOURNAL_CORRUPT, ENVIRONMENT_UNAVAILABLE.
   */
  async redact(runId: string, text: string): Promise<string> {
    const { plan } = await readDefinition(this.#dependencies, runId);
    return (await this.#dependencies.environments.open(plan)).redactText(text);
  }

  /** Returns the stored record of the run; undefined if the run does not exist. */
  async find(runId: string): Promise<RunRecord | undefined> {
    return this.#dependencies.stores.runs.record(runId);
  }

  /**
   * Returns the stored record and logs of the run; undefined if the run does not exist. Newer journal entries are not
   * included: if the process that wrote them has died, another process replaces them.
   */
  async readRun(
    runId: string,
    options: ReadRunOptions = { withLogs: false },
  ): Promise<RecordWithLogs | undefined> {
    return readStoredRun(this.#dependencies.stores, runId, options);
  }

  /** Returns the events of the run after a position, as they arrive in the stores; default: from its start. */
  events(runId: string, startPosition: EventPosition = RUN_START): AsyncGenerator<RunEvent> {
    return eventsAfter({ ...this.#dependencies, mayContinue: () => true }, runId, startPosition);
  }

  /** Returns the current position of a run. */
  position(record: RunRecord): Promise<EventPosition> {
    return currentPosition(this.#dependencies.stores, record);
  }

  /**
   * Returns the resume of the pause point `token`, or of the only open one; undefined if it was resumed before. Throws
   * the errors of `Engine.resume`.
   */
  async prepareResumeAnswer(
    runId: string,
    { token, input = {} }: { token?: string; input?: Json },
  ): Promise<ResumeAnswer | undefined> {
    // Callers may know a token from the journal before it is in the record.
    const { record } = (await readRun(this.#dependencies, runId, { withLogs: false })) ?? {};
    const openPauses =
      record && !isEnded(record.status) ? record.pauses.filter(({ kind }) => kind === 'human') : undefined;
    const point =
      token === undefined ? onlyElement(openPauses) : openPauses?.find((pause) => pause.token === token);
    if (!record || !point) {
      if (token !== undefined && (await hasTokenEntry(this.#dependencies, runId, token, 'resumed')))
        return undefined;
      return rejectResume(this.#dependencies, runId, { openPoints: openPauses, token });
    }
    const { plan } = await readDefinition(this.#dependencies, runId);
    const output = await resumedOutput(this.#dependencies, plan, point, input);
    const { sanitizer } = await this.#dependencies.environments.open(plan);
    const label = `The answer to "${point.blockName}"`;
    const storedAnswer = await sanitizer.storeCallerValues({ input, output }, label);
    const { blockId, scope, token: pointToken, continues } = point;
    const atMs = this.#dependencies.clock.now();
    const resumedFields = { atMs, type: 'resumed' as const, block: blockId, scope, token: pointToken };
    const entry = { ...resumedFields, ...continues, ...storedAnswer };
    return { token: pointToken, seq: record.seq, at: indexPlan(plan).addressOf(blockId, scope), entry };
  }
}

function onlyElement<T>(list: readonly T[] | undefined): T | undefined {
  return list?.length === 1 ? list[0] : undefined;
}
