import { randomUUID } from 'node:crypto';
import { EngineError, startCandidates } from '@heddle/core';
import type { BlockLog, Json, Plan } from '@heddle/core';
import type { FileRecord } from '@heddle/core/files';
import { traceOf } from '@heddle/core/run';
import type { Span } from '@heddle/core/run';
import { readKept } from './files/kept.ts';
import { mayHoldFiles, takeFiles } from './files/take.ts';
import { findBlock } from './local/plan-facts.ts';
import { runNotFound } from './local/run-errors.ts';
import { storedRecord } from './local/stored-record.ts';
import type { Reused } from './rerun.ts';
import { reuse } from './rerun.ts';
import { detailOf, resourceOf } from './resource.ts';
import type { EngineParts } from './parts.ts';
import { follow } from './visit/follow.ts';
import type { LiveRun } from './runtime-port.ts';
import type { Found } from './definitions.ts';
import type {
  Deployed,
  Engine,
  ExecuteOptions,
  ListQuery,
  RunDetail,
  RunEvent,
  RunHandle,
  RunResource,
  WorkflowSource,
} from './types.ts';

interface Selection {
  select?: readonly string[];
}

type Shown = Omit<BlockLog, 'input' | 'output'> & { input: Json; output: Json };

/** An engine over a runtime and its stores. */
export class HeddleEngine implements Engine {
  private readonly parts: EngineParts;
  private closed: Promise<void> | undefined;

  constructor(parts: EngineParts) {
    this.parts = parts;
  }

  async deploy(workflow: unknown, options: { fileName?: string; compat?: boolean } = {}): Promise<Deployed> {
    this.expectOpen();
    return this.parts.definitions.deploy(workflow, options);
  }

  async execute(
    workflow: WorkflowSource,
    input: Json = {},
    options: ExecuteOptions = {},
  ): Promise<RunResource> {
    const run = await this.begin(workflow, input, options);
    return this.resultOf(run, options);
  }

  async start(workflow: WorkflowSource, input: Json = {}, options: ExecuteOptions = {}): Promise<RunHandle> {
    return this.handle(await this.begin(workflow, input, options), options);
  }

  private async begin(workflow: WorkflowSource, input: Json, options: ExecuteOptions): Promise<LiveRun> {
    const { found, start } = await this.beginning(workflow, options);
    return this.launch(found, { start, input, options });
  }

  private async beginning(
    workflow: WorkflowSource,
    { version, start }: ExecuteOptions,
  ): Promise<{ found: Found; start: string }> {
    this.expectOpen();
    const found = await this.parts.definitions.resolve(workflow, version);
    return { found, start: start === undefined ? found.plan.start : startBlock(found.plan, start) };
  }

  async takeFiles(
    workflow: WorkflowSource,
    input: Json,
    options: Pick<ExecuteOptions, 'version' | 'start' | 'signal'> = {},
  ): Promise<Json> {
    this.expectOpen();
    if (!mayHoldFiles(input)) return input;
    const { found, start } = await this.beginning(workflow, options);
    const block = found.plan.blocks[start];
    const { stores, outlet } = this.parts;
    const taking = { values: stores.values, outlet, signal: options.signal };
    return block?.trigger ? takeFiles(block, input, taking) : input;
  }

  async readFile(file: Pick<FileRecord, 'id' | 'key'>): Promise<string | undefined> {
    this.expectOpen();
    return readKept(this.parts.stores.values, file);
  }

  private launch(
    { plan, version }: Found,
    request: { start: string; input: Json; options: ExecuteOptions; reused?: Reused },
  ): Promise<LiveRun> {
    const { start, input, options, reused } = request;
    return this.parts.runtime.start({
      runId: options.runId ?? newRunId(),
      plan,
      version,
      input,
      start,
      mocks: options.mocks ?? null,
      ...(options.until !== undefined && { until: topLevel(plan, options.until) }),
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      ...(options.signal && { signal: options.signal }),
      ...(reused && { reused }),
    });
  }

  private handle(run: LiveRun, selection: Selection): RunHandle {
    const { runId } = run;
    return {
      runId,
      result: () => this.resultOf(run, selection),
      events: () => run.events(),
      cancel: async (reason) => {
        await this.cancel(runId, reason);
      },
    };
  }

  private async resultOf(run: LiveRun, selection: Selection): Promise<RunResource> {
    this.expectOpen();
    await run.rested();
    return this.resource(run.runId, selection);
  }

  private async resource(runId: string, { select }: Selection): Promise<RunResource> {
    const { runs } = this.parts.stores;
    const record = await storedRecord(this.parts, runId);
    if (!record) throw runNotFound(runId);
    return resourceOf(record, this.parts.values, { select, logs: select ? await runs.logs(runId) : [] });
  }

  async getRun(runId: string, { select }: Selection = {}): Promise<RunDetail> {
    this.expectOpen();
    const { runs } = this.parts.stores;
    const record = await this.parts.runtime.record(runId);
    if (!record) throw runNotFound(runId);
    return detailOf(record, this.parts.values, { select, logs: select ? await runs.logs(runId) : [] });
  }

  async getLogs(runId: string): Promise<Shown[]> {
    this.expectOpen();
    const { stores, values, runtime } = this.parts;
    await runtime.saved(runId);
    if (!(await stores.runs.header(runId))) throw runNotFound(runId);
    const logs = await stores.runs.logs(runId);
    return Promise.all(
      logs.map(async (log) => ({
        ...log,
        input: log.input ? await values.load(log.input) : null,
        output: log.output ? await values.load(log.output) : null,
      })),
    );
  }

  async getTrace(runId: string): Promise<Span> {
    this.expectOpen();
    const { stores, runtime } = this.parts;
    await runtime.saved(runId);
    const record = await stores.runs.record(runId);
    if (!record) throw runNotFound(runId);
    return traceOf(record, await stores.runs.logs(runId));
  }

  async *follow(runId: string, { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<RunEvent> {
    this.expectOpen();
    const { stores, values, clock, definitions } = this.parts;
    const header = await stores.runs.header(runId);
    if (!header) throw runNotFound(runId);
    const plan = await definitions.plan(header.planHash);
    const isServed = (): boolean => this.closed === undefined;
    const parts = { store: stores.runs, values, clock, isServed, ...(signal && { signal }) };
    yield* follow(parts, runId, plan);
  }

  async listRuns(query: ListQuery = {}): Promise<{ runs: RunDetail[]; nextCursor: string | null }> {
    this.expectOpen();
    const { status, ...rest } = query;
    const page = await this.parts.stores.runs.list({ ...rest, ...(status && { status: [...status] }) });
    const runs = await Promise.all(page.runs.map((record) => detailOf(record, this.parts.values)));
    return { runs, nextCursor: page.cursor ?? null };
  }

  async resume(
    runId: string,
    options: { token?: string; input?: Json } & Selection = {},
  ): Promise<RunResource> {
    this.expectOpen();
    await this.parts.runtime.resume(runId, options);
    return this.resource(runId, options);
  }

  async cancel(runId: string, reason?: string): Promise<boolean> {
    this.expectOpen();
    return this.parts.runtime.cancel(runId, reason);
  }

  async runFromBlock(
    runId: string,
    block: string,
    options: { workflow?: WorkflowSource; input?: Json } & ExecuteOptions = {},
  ): Promise<RunHandle> {
    this.expectOpen();
    const { stores, definitions, values } = this.parts;
    const header = await stores.runs.header(runId);
    if (!header) throw runNotFound(runId);
    const plan = await definitions.plan(header.planHash);
    const found =
      options.workflow === undefined
        ? { plan, version: header.version }
        : await definitions.resolve(options.workflow, options.version);
    const entries = await stores.runs.journal(runId);
    const { start, reused } = reuse(found.plan, block, { runId, plan, entries });
    const [first] = entries;
    const before = first?.type === 'started' ? await values.load(first.input) : {};
    const restarted = await this.launch(found, {
      start,
      input: options.input ?? before,
      options: { mocks: header.mocks, ...options },
      reused,
    });
    return this.handle(restarted, options);
  }

  async attach(runId: string): Promise<RunHandle> {
    this.expectOpen();
    const run = await this.parts.runtime.open(runId);
    if (run) return this.handle(run, {});
    if (await this.parts.stores.runs.header(runId))
      throw new EngineError('RUN_ENDED', `Run ${runId} has ended.`);
    throw runNotFound(runId);
  }

  private expectOpen(): void {
    if (this.closed) throw new EngineError('ENGINE_CLOSED', 'The engine is closed: open another one.');
  }

  close(options: { graceMs?: number } = {}): Promise<void> {
    this.closed ??= this.parts.close(options.graceMs ?? 5000);
    return this.closed;
  }
}

/** A new UUID. Node puts it together of 14 texts, which live on until something reads it as one: a number is what it is not. */
function newRunId(): string {
  const runId = randomUUID();
  Number(runId);
  return runId;
}

/** The block that `reference` names, when a run can start at it. Throws BLOCK_NOT_FOUND, START_NOT_FOUND. */
function startBlock(plan: Plan, reference: string): string {
  const block = findBlock(plan, reference);
  const candidates = startCandidates(plan);
  if (candidates.includes(block.id)) return block.id;
  const names = candidates.map((id) => `"${plan.blocks[id]?.name ?? id}"`).join(', ');
  throw new EngineError(
    'START_NOT_FOUND',
    `A run cannot start at "${block.name}": it is no trigger. It can start at ${names}.`,
  );
}

function topLevel(plan: Plan, reference: string): string {
  const block = findBlock(plan, reference);
  if (block.containers.length === 0 && !block.trigger) return block.id;
  const why = block.trigger ? 'it is where runs start' : 'it stands inside a container';
  throw new EngineError('BLOCK_NOT_RESTARTABLE', `A run cannot stop after "${block.name}": ${why}.`);
}
