import type { Json, RunRecord } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { LocalRuntime } from '../local/local-runtime.ts';
import type { LocalParts } from '../local/local-runtime.ts';
import type { ActiveRun } from '../local/active-run.ts';
import type { LiveRun } from '../../runtime-port.ts';
import { isHeldByOther } from '../../store/leases.ts';
import type { RunEvent } from '../../types.ts';
import { seqIn } from './peer-runs.ts';
import type { Elsewhere } from './peer-runs.ts';

/** Runs of several processes: those of this one, and those of the others as it reaches them. */
export class LeasedRuntime extends LocalRuntime {
  private readonly elsewhere: Elsewhere;

  constructor(parts: LocalParts, elsewhere: Elsewhere) {
    super(parts);
    this.elsewhere = elsewhere;
  }

  /** A run that begins here may go on elsewhere. */
  protected override live(started: ActiveRun): LiveRun {
    const here = super.live(started);
    const { runId } = here;
    return {
      runId,
      rested: async () => {
        try {
          await here.rested();
        } catch (error) {
          if (!isHeldByOther(error, runId)) throw error;
          await this.elsewhere.rested(runId, started.told);
        }
      },
      events: () => this.goingOn(here.events(), started),
    };
  }

  private async *goingOn(here: AsyncIterable<RunEvent>, run: ActiveRun): AsyncGenerator<RunEvent> {
    try {
      yield* here;
    } catch (error) {
      if (!isHeldByOther(error, run.runId)) throw error;
      yield* this.elsewhere.events(run.runId, run.told);
    }
  }

  override async open(runId: string): Promise<LiveRun | undefined> {
    try {
      return await super.open(runId);
    } catch (error) {
      if (!isHeldByOther(error)) throw error;
      return this.elsewhere.open(runId);
    }
  }

  override record(runId: string): Promise<RunRecord | undefined> {
    const running = this.parts.runtime.running(runId);
    return running && !running.broken ? super.record(runId) : this.elsewhere.record(runId);
  }

  override async resume(runId: string, { token, input }: { token?: string; input?: Json }): Promise<void> {
    const point = token ?? (await this.onlyPoint(runId));
    const answer = { ...(point !== undefined && { token: point }), ...(input !== undefined && { input }) };
    await this.elsewhere.reach(
      { runId, kind: 'resume', payload: answer },
      () => super.resume(runId, answer),
      (outcome) => this.elsewhere.rested(runId, seqIn(outcome)),
    );
  }

  /** The only open point by its token: the request may be done twice, and the next point must not get the answer of this one. */
  private async onlyPoint(runId: string): Promise<string | undefined> {
    const { pauses = [] } = (await this.record(runId)) ?? {};
    const open = pauses.filter(({ kind }) => kind === 'human');
    return open.length === 1 ? open[0]?.token : undefined;
  }

  override cancel(runId: string, reason: string | undefined): Promise<boolean> {
    return this.elsewhere.reach(
      { runId, kind: 'cancel', payload: reason === undefined ? {} : { reason } },
      () => super.cancel(runId, reason),
      (outcome) => isJsonObject(outcome) && outcome['cancelled'] === true,
    );
  }
}
