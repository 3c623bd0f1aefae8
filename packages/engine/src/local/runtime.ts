import { EngineError } from '@heddle/core';
import type { Json, NewRun, Plan } from '@heddle/core';
import { JOURNAL_FORMAT } from '@heddle/core/run';
import type { Entry, Stored } from '@heddle/core/run';
import PQueue from 'p-queue';
import { startOutput } from '../executors/start.ts';
import { parseMocks } from '../mocks/mocks.ts';
import type { ChildOutcome } from '../executors/services.ts';
import { assembleRun } from './assembly.ts';
import { asObject } from './children.ts';
import type { ChildCall, Children } from './children.ts';
import { envNames } from './plan-facts.ts';
import type { ActiveRun } from './run.ts';
import type { RuntimeParts } from './runtime-parts.ts';

/** A run to be. */
export interface RunRequest {
  runId: string;
  plan: Plan;
  version: number | undefined;
  input: Json;
  /** Id of the block it starts at. */
  start: string;
  until?: string;
  timeoutMs?: number;
  mocks: Json;
  parent?: NewRun['parent'];
  reused?: { runId: string; outputs: { [blockId: string]: Stored }; variables: { [id: string]: Json } };
}

/** The runs of this process: starts them, takes them up again, finds them. */
export class Runtime implements Children {
  private readonly active = new Map<string, ActiveRun>();
  private readonly opening = new Map<string, Promise<ActiveRun | undefined>>();
  private readonly plans = new Set<string>();
  private readonly queue: PQueue;
  private readonly parts: RuntimeParts;
  private closing = false;

  constructor(parts: RuntimeParts) {
    this.parts = parts;
    this.queue = new PQueue({ concurrency: parts.concurrency.engine });
  }

  /** Throws RUN_ID_TAKEN, INPUT_INVALID, ENGINE_CLOSED, DATA_UNWRITABLE; a run that starts is recorded before this returns. */
  async start(request: RunRequest): Promise<ActiveRun> {
    if (this.closing) throw new EngineError('ENGINE_CLOSED', 'The engine is closing: it takes no new run.');
    const { plan, runId } = request;
    const { stores, values, redactor } = this.parts;
    const start = plan.blocks[request.start];
    if (start?.trigger) startOutput(start, request.input);
    this.warnOfMocks(request);
    await this.keepPlan(plan);
    const header = this.headerOf(request);
    const first: Entry = {
      seq: 1,
      atMs: header.createdMs,
      type: 'started',
      format: JOURNAL_FORMAT,
      start: request.start,
      input: await values.keep(redactor.json(request.input)),
      graceMs: plan.limits.graceMs,
      variables:
        request.reused?.variables ?? Object.fromEntries(plan.variables.map(({ id, value }) => [id, value])),
      ...(request.until !== undefined && { until: request.until }),
      ...limitsOf(request),
      ...(request.reused && { reused: { runId: request.reused.runId, outputs: request.reused.outputs } }),
    };
    if (!(await stores.runs.create(header, first))) {
      throw new EngineError(
        'RUN_ID_TAKEN',
        `There is a run ${runId} already: every run needs an id of its own.`,
        { details: { runId } },
      );
    }
    const run = this.assemble(header, plan);
    this.active.set(runId, run);
    this.watch(run);
    run.begin(first);
    return run;
  }

  /** A mistyped name would silently run the real block. A workflow that calls others may mean one of theirs. */
  private warnOfMocks({ plan, mocks, runId, parent }: RunRequest): void {
    const blocks = Object.values(plan.blocks);
    if (mocks === null || parent || plan.skeleton.nodes.some((node) => node.class === 'child')) return;
    const unused = parseMocks(mocks).unusedNames(blocks);
    if (unused.length === 0) return;
    const names = unused.map((name) => `"${name}"`).join(', ');
    this.parts.report(
      new EngineError('OPTIONS_INVALID', `The mocks name blocks that the workflow does not have: ${names}.`),
      runId,
    );
  }

  private headerOf(request: RunRequest): NewRun {
    const { plan } = request;
    return {
      runId: request.runId,
      workflowId: plan.workflow.id,
      planHash: plan.hash,
      version: request.version,
      parent: request.parent,
      mocks: request.mocks,
      env: envNames(plan).filter((name) => Object.hasOwn(this.parts.env, name)),
      createdMs: this.parts.clock.now(),
    };
  }

  private async keepPlan(plan: Plan): Promise<void> {
    if (this.plans.has(plan.hash)) return;
    await this.parts.stores.definitions.putPlan(plan.hash, plan as unknown as Json);
    this.plans.add(plan.hash);
  }

  /** The run, when it runs here. */
  running(runId: string): ActiveRun | undefined {
    return this.active.get(runId);
  }

  /** The run, when it has not ended: as it runs here, or from its journal. */
  async open(runId: string): Promise<ActiveRun | undefined> {
    const running = this.active.get(runId);
    if (running) return running;
    let opening = this.opening.get(runId);
    if (!opening) {
      opening = this.load(runId).finally(() => this.opening.delete(runId));
      this.opening.set(runId, opening);
    }
    return opening;
  }

  private async load(runId: string): Promise<ActiveRun | undefined> {
    const { runs } = this.parts.stores;
    const header = await runs.header(runId);
    if (!header) return undefined;
    const run = this.assemble(header, await this.parts.definitions.plan(header.planHash));
    const entries = await runs.journal(runId);
    const missing = header.env.filter((name) => !Object.hasOwn(this.parts.env, name));
    if (missing.length > 0)
      run.suspended = `The run needs a value for ${missing.map((name) => `{{${name}}}`).join(', ')}: give it, and start again.`;
    run.recover(entries);
    if (run.ended()) {
      await run.save();
      return undefined;
    }
    this.active.set(runId, run);
    this.watch(run);
    return run;
  }

  /** Takes up every run that has not ended. A child whose parent has ended is cancelled; others wait for their parent's block. */
  async takeUp(): Promise<void> {
    const { runs } = this.parts.stores;
    for (const runId of await runs.open()) {
      try {
        const run = await this.open(runId);
        const parentId = run?.header.parent?.runId;
        if (run && parentId !== undefined && (await this.open(parentId)) === undefined)
          run.cancel('The parent run has ended.');
      } catch (error) {
        this.parts.report(error, runId);
      }
    }
  }

  /** Closes: running blocks may finish until `until` resolves; open runs go on at the next start. */
  async close(until: Promise<void>): Promise<void> {
    this.closing = true;
    const stopping = [...this.active.values()].map((run) => run.stop(until));
    const results = await Promise.allSettled(stopping);
    for (const result of results)
      if (result.status === 'rejected') this.parts.report(result.reason, undefined);
  }

  /** Forgets a run when it has ended, or when nothing but a person can move it and nobody listens. */
  private assemble(header: NewRun, plan: Plan): ActiveRun {
    return assembleRun(this, this.parts, { header, plan, engineQueue: this.queue });
  }

  private watch(run: ActiveRun): void {
    const stop = run.listen((event) => {
      if (event.type !== 'rest' || event.rest !== 'ended') return;
      stop();
      this.active.delete(run.runId);
      this.parts.code.release(run.runId);
    });
  }

  /** The child run of a block: as it runs, from its journal, or newly started; undefined when it has ended. */
  async childRun(runId: string, call: ChildCall): Promise<ActiveRun | undefined> {
    const { stores } = this.parts;
    if (await stores.runs.header(runId)) return this.open(runId);
    const found = await this.parts.definitions.find(call.request.workflow.workflowId);
    if (!found)
      throw new EngineError(
        'WORKFLOW_NOT_FOUND',
        `The workflow ${call.request.workflow.workflowId} is gone.`,
      );
    const { header } = call.parent;
    return this.start({
      runId,
      plan: found.plan,
      version: found.version,
      input: call.request.input,
      start: found.plan.start,
      mocks: header.mocks,
      parent: {
        runId: header.runId,
        block: call.place.block,
        scope: call.place.scope,
        depth: (header.parent?.depth ?? 0) + 1,
      },
    });
  }

  /** How an ended child run has ended. */
  async childOutcome(runId: string): Promise<ChildOutcome> {
    const record = await this.parts.stores.runs.record(runId);
    if (!record) throw new EngineError('RUN_NOT_FOUND', `The child run ${runId} has no record.`);
    if (record.status === 'completed') {
      return {
        status: 'completed',
        runId,
        output: asObject(await this.parts.values.load(record.output ?? { v: {} })),
      };
    }
    if (record.status === 'cancelled') return { status: 'cancelled', runId };
    const { error } = record;
    if (!error)
      return { status: 'failed', runId, error: { code: 'BLOCK_FAILED', message: 'The child run failed.' } };
    const { code, message, blockName, details } = error;
    return {
      status: 'failed',
      runId,
      error: {
        code,
        message,
        ...(blockName !== undefined && { blockName }),
        ...(details !== undefined && { details }),
      },
    };
  }
}

function limitsOf(request: RunRequest): { timeoutMs?: number; activeOnly?: boolean } {
  const { limits } = request.plan;
  const timeoutMs = request.timeoutMs ?? limits.timeoutMs;
  if (timeoutMs === undefined) return {};
  return limits.deadline === 'active' ? { timeoutMs, activeOnly: true } : { timeoutMs };
}
