import { EngineError } from '@heddle/core';
import type { Json, NewRun, Plan } from '@heddle/core';
import type { Entry } from '@heddle/core/run';
import PQueue from 'p-queue';
import type { ChildOutcome } from '../../executors/services.ts';
import { isEnded } from '../../store/journal.ts';
import { heldByOther, isHeldByOther } from '../../store/leases.ts';
import type { TailableRunStore } from '../../store/stores.ts';
import { after } from '../../execution/answer.ts';
import { assembleRun } from './assembly.ts';
import { childOutcomeOf } from '../../execution/child-outcome.ts';
import {
  awaitedChildren,
  childRequest,
  childRunId,
  findChildRun,
  recordedChildren,
} from '../../execution/child-runs.ts';
import type { ChildCall, Children } from './child-call.ts';
import type { RunEnvironment } from '../../execution/run-environment.ts';
import { missingEnvironment } from '../../execution/plan-queries.ts';
import type { RestEvent } from './run-parts.ts';
import type { ActiveRun } from './active-run.ts';
import { runElsewhere, runIdTaken, runNotFound } from '../../records/run-errors.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { beginningOf } from '../../execution/run-start.ts';
import type { RunRequest } from '../../execution/run-start.ts';
import { recordSuspension } from '../../records/stored-record.ts';
import { takeUp } from './recover.ts';
import type { Tenure } from './run-ownership.ts';

/** Paused runs that are kept in memory though nobody listens, unless others may want them: an answer that comes soon finds them there. */
const KEPT_PAUSED = 64;

interface Assembly {
  header: NewRun;
  store: TailableRunStore;
  environment: RunEnvironment;
}

/** The runs of this process: starts them, takes them up again, finds them. */
export class Runtime implements Children {
  private readonly parts: RuntimeParts;
  private readonly active = new Map<string, ActiveRun>();
  private readonly opening = new Map<string, Promise<ActiveRun | undefined>>();
  /** Active runs that only a person can move, those that have rested longest first. */
  private readonly resting = new Set<ActiveRun>();
  private readonly away = new Set<string>();
  private readonly plans = new Set<string>();
  private readonly queue: PQueue;
  private readonly tenure: Tenure;
  private closing = false;

  constructor(parts: RuntimeParts, tenure: Tenure) {
    this.parts = parts;
    this.tenure = tenure;
    this.queue = new PQueue({ concurrency: parts.concurrency.engine });
  }

  /** Throws RUN_ID_TAKEN, INPUT_INVALID, OPTIONS_INVALID, ENGINE_CLOSED, DATA_UNWRITABLE; a run that starts is recorded before this returns. */
  async start(request: RunRequest): Promise<ActiveRun> {
    this.expectOpen();
    const { runId } = request;
    if (this.active.has(runId) || this.opening.has(runId)) throw runIdTaken(runId);
    const starting = this.create(request);
    if (!(starting instanceof Promise)) return starting;
    this.opening.set(
      runId,
      starting.catch(() => undefined),
    );
    try {
      return await starting;
    } finally {
      this.opening.delete(runId);
    }
  }

  /** At once where the stores answer at once. */
  private create(request: RunRequest): ActiveRun | Promise<ActiveRun> {
    return after(this.parts.environments.open(request.plan), (environment) =>
      after(this.keepPlan(request.plan), () =>
        after(beginningOf({ ...this.parts, environment }, request), ({ header, first, record }) =>
          after(this.tenure.create(header, first, record), (store) => {
            if (!store) throw runIdTaken(request.runId);
            return this.begin(request, { header, first, store, environment });
          }),
        ),
      ),
    );
  }

  private begin(request: RunRequest, { first, ...assembly }: Assembly & { first: Entry }): ActiveRun {
    const { runId, plan } = request;
    this.expectOpen();
    const run = this.assemble(plan, assembly);
    this.active.set(runId, run);
    // R29: who cancels before the start has no block run, not even for a moment.
    if (request.signal?.aborted) run.standStill();
    run.begin(first);
    return run;
  }

  private keepPlan(plan: Plan): Promise<void> | void {
    if (this.plans.has(plan.hash)) return undefined;
    return after(this.parts.stores.definitions.putPlan(plan.hash, plan as unknown as Json), () => {
      this.plans.add(plan.hash);
    });
  }

  /** The run, when it is in memory. */
  running(runId: string): ActiveRun | undefined {
    return this.active.get(runId);
  }

  /** True for a run that this engine has started or opened, and that has not ended. */
  isOwn(runId: string): boolean {
    return this.active.has(runId) || this.away.has(runId);
  }

  /** The run, when it has not ended: as it runs here, or from its journal. */
  async open(runId: string): Promise<ActiveRun | undefined> {
    return this.opened(runId, (run) => run.goOn());
  }

  private async opened(runId: string, begin: (run: ActiveRun) => void): Promise<ActiveRun | undefined> {
    this.expectOpen();
    const running = this.active.get(runId);
    if (running) return running;
    let opening = this.opening.get(runId);
    if (!opening) {
      opening = this.load(runId, begin).finally(() => this.opening.delete(runId));
      this.opening.set(runId, opening);
    }
    return opening;
  }

  private async load(runId: string, begin: (run: ActiveRun) => void): Promise<ActiveRun | undefined> {
    const { runs } = this.parts.stores;
    const header = await runs.header(runId);
    const known = await runs.record(runId);
    if (!header || (known && isEnded(known.status))) return undefined;
    if (header.elsewhere) throw runElsewhere(header);
    const store = await this.taken(header);
    // What another process had until now may have moved on meanwhile.
    const saved = store === runs ? known : await store.record(runId);
    const plan = await this.parts.definitions.plan(header.planHash);
    const environment = await this.parts.environments.open(plan);
    const run = this.assemble(plan, { header, store, environment });
    run.suspended = missingEnvironment(header, environment.values);
    run.recover(await store.journal(runId), saved);
    this.expectOpen();
    this.tenure.writer(runId);
    this.active.set(runId, run);
    this.away.delete(runId);
    begin(run);
    if (run.replica.idleState() !== 'ended') return run;
    await run.rested();
    return undefined;
  }

  /** A child is where its parent is, which takes it up. */
  private async taken({ runId, parent }: NewRun): Promise<TailableRunStore> {
    try {
      if (parent && this.tenure.shared) await this.open(parent.runId);
    } catch (error) {
      // Anything else is said in the parent's own turn.
      if (isHeldByOther(error, parent?.runId)) throw heldByOther(runId);
    }
    return this.tenure.take(runId);
  }

  /** Cancels the run and its children; false when it had ended before. Throws RUN_NOT_FOUND. */
  async cancel(runId: string, reason: string | undefined): Promise<boolean> {
    // What is loaded only to be cancelled must not run again first.
    const run = await this.opened(runId, (loaded) => loaded.standStill());
    if (!run) {
      if (await this.parts.stores.runs.header(runId)) return false;
      throw runNotFound(runId);
    }
    const awaited = awaitedChildren(run);
    await run.cancel(reason);
    for (const child of await recordedChildren(this.parts.stores.runs, run.header, awaited))
      await this.cancel(child.runId, 'The parent run was stopped.');
    return run.replica.state.end?.status === 'cancelled';
  }

  /** Takes up every run that has not ended and is no affair of another runtime. */
  async takeUp(): Promise<void> {
    for (const runId of await this.parts.stores.runs.open()) await this.adopt(runId);
  }

  /** Takes up a run that this process may have. Never rejects: what is in the way stands in its record. */
  adopt(runId: string): Promise<void> {
    return takeUp(this, this.parts, runId);
  }

  /** Closes: running blocks may finish until `until` resolves; open runs go on at the next start. */
  async close(until: Promise<void>): Promise<void> {
    this.closing = true;
    await Promise.allSettled(this.opening.values());
    const runs = [...this.active.values()];
    await Promise.race([Promise.all(runs.map((run) => run.windDown())), until]);
    // All of them before any is aborted: a parent that stops must not reach a child that still listens.
    for (const run of runs) run.leave();
    for (const result of await Promise.allSettled(runs.map((run) => run.stop())))
      if (result.status === 'rejected') this.parts.report(result.reason, undefined);
  }

  private expectOpen(): void {
    if (this.closing) throw new EngineError('ENGINE_CLOSED', 'The engine is closed: it takes no more work.');
  }

  private assemble(plan: Plan, assembly: Assembly): ActiveRun {
    const moved = (run: ActiveRun, event: RestEvent): void => this.moved(run, event);
    const alert = this.tenure.shared ? (): void => this.tenure.alert() : undefined;
    return assembleRun(this, this.parts, { ...assembly, plan, engineQueue: this.queue, alert, moved });
  }

  /** All that this process has is another's from now on: what runs is stopped, and nothing is written. */
  lose(why: (runId: string) => Error): void {
    for (const run of [...this.active.values()]) run.break(why(run.runId));
  }

  private moved(run: ActiveRun, { rest, error }: RestEvent): void {
    this.resting.delete(run);
    if (error !== undefined) void this.dropBroken(run, error);
    else if (rest === 'ended') this.forget(run);
    else if (rest === 'human') {
      this.resting.add(run);
      // Where others may want them, all are put away in time: who has just opened one must find it as it is.
      if (!this.tenure.shared) this.putAway();
    }
  }

  private forget(run: ActiveRun): void {
    this.drop(run);
    this.tenure.forget(run.runId);
  }

  private drop(run: ActiveRun): void {
    if (this.active.get(run.runId) === run) this.active.delete(run.runId);
    this.parts.code.release(run.runId);
  }

  /** Puts away the runs that have rested longest, when there are many. */
  putAway(): void {
    const kept = this.tenure.shared ? 0 : KEPT_PAUSED;
    for (const run of this.resting) {
      if (this.resting.size <= kept) return;
      if (!run.idle()) continue;
      run.putAway();
      this.resting.delete(run);
      this.drop(run);
      this.away.add(run.runId);
      this.tenure.rest(run.runId);
    }
  }

  private async dropBroken(run: ActiveRun, error: Error): Promise<void> {
    if (this.closing) return;
    if (isHeldByOther(error, run.runId)) return this.forget(run);
    await this.stumble(run.runId, error);
    this.drop(run);
  }

  /** Says in the run's record why it does not move. */
  async stumble(runId: string, why: unknown): Promise<void> {
    try {
      const stores = { ...this.parts.stores, runs: this.tenure.writer(runId) };
      await recordSuspension(
        { ...this.parts, stores },
        runId,
        why instanceof Error ? why.message : String(why),
      );
    } catch {
      // What stands against the run stands against its record too, and has been reported.
    }
    this.tenure.stumbled(runId);
  }

  async childRun(call: ChildCall): Promise<ActiveRun | undefined> {
    const { stores, definitions } = this.parts;
    const { header } = call.parent;
    const known = await findChildRun(stores.runs, header, call);
    if (known) return this.open(known.runId);
    return this.start(await childRequest(definitions, header, call));
  }

  async childOutcome({ parent, ...child }: ChildCall): Promise<ChildOutcome> {
    const runId = childRunId(parent.header, child);
    return childOutcomeOf(runId, await this.parts.stores.runs.record(runId), this.parts.values);
  }
}
