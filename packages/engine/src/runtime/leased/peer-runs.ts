import { EngineError } from '@heddle/core';
import type { Clock, EngineErrorCode, Json, RunRecord } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { latestRecord } from '../../records/stored-record.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import type { LiveRun } from '../../runtime-port.ts';
import type { NewControlRequest, ControlOutcome } from '../../store/control.ts';
import { isAtRest, isEnded } from '../../store/journal.ts';
import { isHeldByOther } from '../../store/leases.ts';
import type { RequestStore } from '../../store/leases.ts';
import type { RunEvent } from '../../types.ts';
import { foldJournal } from '../../records/fold.ts';
import { follow } from '../../records/follow.ts';

/** What other processes write is looked for again after this long at first, twice as long each time, and this long at most. */
const FIRST_LOOK_MS = 10;
const MOST_LOOK_MS = 500;
/** How often an outcome is looked for before it is asked again whether the run can be had here by now. */
const LOOKS = 8;

export interface ElsewhereParts {
  runtime: Pick<RuntimeParts, 'stores' | 'values' | 'definitions' | 'environments'>;
  requests: RequestStore;
  /** By which other processes are looked after: the machine's, whatever time runs live in. */
  clock: Clock;
  closed: () => boolean;
}

/** The runs that other processes hold, as this one sees them and reaches them. */
export class Elsewhere {
  private readonly parts: ElsewhereParts;

  constructor(parts: ElsewhereParts) {
    this.parts = parts;
  }

  /** The run as it stands, to the last entry; undefined: there is none. */
  record(runId: string): Promise<RunRecord | undefined> {
    return latestRecord(this.parts.runtime, runId);
  }

  /** The run as whoever waits for it has it; undefined: it has ended. */
  async open(runId: string): Promise<LiveRun | undefined> {
    const record = await this.record(runId);
    if (!record || isEnded(record.status)) return undefined;
    return {
      runId,
      rested: () => this.rested(runId, record.seq),
      events: () => this.events(runId),
    };
  }

  /** Resolves when the record has seen so many entries, and says that nothing moves the run but a person. */
  async rested(runId: string, seq: number): Promise<void> {
    const { runs } = this.parts.runtime.stores;
    for await (const _ of this.looks()) {
      const record = await runs.record(runId);
      if (record && record.seq >= seq && isAtRest(record)) return;
    }
  }

  /** What happens in the run after its first `told` entries; all of them that there are when the call comes where it is absent. */
  async *events(runId: string, told?: number): AsyncGenerator<RunEvent> {
    const { stores, values, definitions } = this.parts.runtime;
    const header = await stores.runs.header(runId);
    if (!header) return;
    const plan = await definitions.plan(header.planHash);
    const journal = await stores.runs.journal(runId);
    const past = told === undefined ? journal : journal.filter(({ seq }) => seq <= told);
    const { replica } = foldJournal(runId, plan, past);
    const parts = {
      store: stores.runs,
      values,
      clock: this.parts.clock,
      isServed: () => !this.parts.closed(),
    };
    yield* follow(parts, runId, plan, replica);
  }

  /**
   * Does `here` once the run can be had, or has the process that holds it do what is asked; `told` makes an answer of its
   * outcome. What is asked must be harmless when it is done twice. Throws what refuses it.
   */
  async reach<T>(
    ask: NewControlRequest,
    here: () => Promise<T>,
    told: (value: Json) => Promise<T> | T,
  ): Promise<T> {
    const { requests } = this.parts;
    let id: string | undefined;
    try {
      for (;;) {
        try {
          return await here();
        } catch (error) {
          if (!isHeldByOther(error)) throw error;
        }
        id ??= await requests.add(await this.redacted(ask));
        const outcome = await this.outcome(id);
        if (outcome?.status === 'done') return await told(outcome.value);
        if (outcome) throw new EngineError(outcome.code as EngineErrorCode, outcome.message);
      }
    } finally {
      if (id !== undefined) await requests.remove(id);
    }
  }

  /** The request as it may be stored: without the secrets that the run's blocks can read. */
  private async redacted(ask: NewControlRequest): Promise<NewControlRequest> {
    const { stores, definitions, environments } = this.parts.runtime;
    const header = await stores.runs.header(ask.runId);
    if (!header) return ask;
    const environment = await environments.open(await definitions.plan(header.planHash));
    return { ...ask, payload: environment.json(ask.payload) };
  }

  private async outcome(id: string): Promise<ControlOutcome | undefined> {
    let left = LOOKS;
    for await (const _ of this.looks()) {
      const outcome = await this.parts.requests.outcome(id);
      if (outcome || --left === 0) return outcome;
    }
    return undefined;
  }

  /** Again and again, with longer pauses; throws ENGINE_CLOSED once this engine is closed. */
  private async *looks(): AsyncGenerator<void> {
    const { clock, closed } = this.parts;
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(MOST_LOOK_MS, waitMs * 2)) {
      if (closed()) throw new EngineError('ENGINE_CLOSED', 'The engine is closed: other processes go on.');
      yield;
      await new Promise<void>((resolve) => {
        clock.at(clock.now() + waitMs, resolve);
      });
    }
  }
}

/** The number that the outcome of a resume has. */
export function seqIn(value: Json): number {
  const seq = isJsonObject(value) ? value['seq'] : undefined;
  return typeof seq === 'number' ? seq : 0;
}
