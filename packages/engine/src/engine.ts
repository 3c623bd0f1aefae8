import { v7 as createRunId } from 'uuid';
import { EngineError, startCandidates } from '@heddle/core';
import type { Diagnostic, Json, Plan, RunRecord } from '@heddle/core';
import { replaySourceRun, traceOf } from '@heddle/core/run';
import type { Span, StoredValue } from '@heddle/core/run';
import { fileReader, openFile } from './files/storage.ts';
import type { FileContent, FileReader, ReadLimits } from './files/storage.ts';
import type { FileRecord } from '@heddle/core/files';
import { mayContainFiles, ingestFiles } from './files/ingest.ts';
import type { StoreFilesOptions } from './files/ingest.ts';
import { copyCallerJson } from './json-copy.ts';
import { isChildRunId } from './execution/child-runs.ts';
import { findBlock } from './execution/plan-queries.ts';
import type { RuntimeDependencies } from './execution/runtime-dependencies.ts';
import type { HttpClient } from './executors/services.ts';
import { readChanges } from './records/run-changes.ts';
import { readDefinition, readHeader } from './records/read-run.ts';
import { runNotFoundError } from './records/run-errors.ts';
import type { ReusedData } from './rerun.ts';
import { previewReuse, collectReusedData } from './rerun.ts';
import { detailOf, listDetails, logDetails, resourceOf } from './resource.ts';
import { isEnded } from './store/journal.ts';
import type { RecordWithLogs, SharedStores } from './store/stores.ts';
import { follow } from './records/follow.ts';
import type { LiveRun, RuntimePort } from './runtime-port.ts';
import type { VersionedPlan } from './definitions.ts';
import type {
  RunFromBlockOptions,
  DeployedVersion,
  Engine,
  ExecuteOptions,
  RunListQuery,
  LogDetail,
  RestartPreview,
  RunChanges,
  RunDetail,
  RunEvent,
  RunHandle,
  RunResource,
  WorkflowBlock,
  WorkflowSource,
} from './types.ts';

interface Selection {
  select?: readonly string[];
}

interface EngineDependencies extends Pick<
  RuntimeDependencies,
  | 'stores'
  | 'values'
  | 'clock'
  | 'registry'
  | 'definitions'
  | 'environments'
  | 'tenant'
  | 'separatesTenants'
  | 'onError'
> {
  runtime: RuntimePort;
  /** Returns the HTTP client that downloads the files of inputs. */
  httpClient: () => Promise<HttpClient>;
  close(graceMs: number): Promise<void>;
}

/** An engine over a runtime and its stores. */
export class HeddleEngine implements Engine {
  readonly #dependencies: EngineDependencies;
  #closePromise: Promise<void> | undefined;

  constructor(dependencies: EngineDependencies) {
    this.#dependencies = dependencies;
  }

  get separatesTenants(): boolean {
    return this.#dependencies.separatesTenants;
  }

  async deploy(
    workflow: unknown,
    options: { fileName?: string; compat?: boolean } = {},
  ): Promise<DeployedVersion> {
    this.#requireOpen();
    return this.#dependencies.definitions.deploy(workflow, options);
  }

  check(workflow: unknown, options: { fileName?: string; compat?: boolean } = {}): Diagnostic[] {
    return this.#dependencies.definitions.check(workflow, options);
  }

  async execute(
    workflow: WorkflowSource,
    input: Json = {},
    options: ExecuteOptions = {},
  ): Promise<RunResource> {
    const run = await this.#startRun(workflow, input, options);
    return this.#resultOf(run, options);
  }

  async start(workflow: WorkflowSource, input: Json = {}, options: ExecuteOptions = {}): Promise<RunHandle> {
    return this.#handleOf(await this.#startRun(workflow, input, options), options);
  }

  async #startRun(workflow: WorkflowSource, input: Json, options: ExecuteOptions): Promise<LiveRun> {
    const { target, start } = await this.#resolveStart(workflow, options);
    return this.#launch(target, { start, input, options });
  }

  async #resolveStart(
    workflow: WorkflowSource,
    { version, start }: ExecuteOptions,
  ): Promise<{ target: VersionedPlan; start: string }> {
    this.#requireOpen();
    const target = await this.#dependencies.definitions.resolve(workflow, version);
    return { target, start: start === undefined ? target.plan.start : startBlockId(target.plan, start) };
  }

  async storeFiles(
    workflow: WorkflowSource,
    input: Json,
    options: Pick<ExecuteOptions, 'version' | 'start' | 'signal'> & StoreFilesOptions = {},
  ): Promise<Json> {
    this.#requireOpen();
    if (!mayContainFiles(input)) return input;
    const { target, start } = await this.#resolveStart(workflow, options);
    const block = target.plan.blocks[start];
    if (!block?.trigger) return input;
    const { stores, httpClient, tenant } = this.#dependencies;
    const owner = () => tenant(target.plan.workflow.id);
    const { signal, limits, onStored, fields } = options;
    return ingestFiles(block, input, {
      ...{ values: stores.values, httpClient, owner, signal, limits, onStored },
      ...(fields && { fields }),
    });
  }

  async triggers(
    workflow: WorkflowSource,
    { version }: Pick<ExecuteOptions, 'version'> = {},
  ): Promise<WorkflowBlock[]> {
    this.#requireOpen();
    const { plan } = await this.#dependencies.definitions.resolve(workflow, version);
    return startCandidates(plan).flatMap((id) => {
      const block = plan.blocks[id];
      return block ? [{ blockId: id, name: block.name, type: block.type }] : [];
    });
  }

  async blocks(
    workflow: WorkflowSource,
    { version }: Pick<ExecuteOptions, 'version'> = {},
  ): Promise<WorkflowBlock[]> {
    this.#requireOpen();
    const { plan } = await this.#dependencies.definitions.resolve(workflow, version);
    return Object.values(plan.blocks).map(({ id, name, type }) => ({ blockId: id, name, type }));
  }

  async redact(
    workflow: WorkflowSource,
    value: Json,
    { version, secrets = new Map() }: Parameters<Engine['redact']>[2] = {},
  ): Promise<Json> {
    this.#requireOpen();
    const { plan } = await this.#dependencies.definitions.resolve(workflow, version);
    const environment = await this.#dependencies.environments.open(plan);
    for (const [name, secret] of secrets) environment.addSecret(name, secret);
    return environment.redactJson(value);
  }

  async fileReader(runId: string, limits: ReadLimits = {}): Promise<FileReader> {
    this.#requireOpen();
    return fileReader(this.#dependencies, await readHeader(this.#dependencies, runId), limits);
  }

  async openFile(runId: string, file: Pick<FileRecord, 'id' | 'key'>): Promise<FileContent | undefined> {
    this.#requireOpen();
    return openFile(this.#dependencies, await readHeader(this.#dependencies, runId), file);
  }

  #launch(
    { plan, version }: VersionedPlan,
    request: { start: string; input: Json; options: ExecuteOptions; reused?: ReusedData },
  ): Promise<LiveRun> {
    const { start, input, options, reused } = request;
    return this.#dependencies.runtime.start({
      runId: chosenRunId(options.runId) ?? createRunId(),
      ...(options.callerId !== undefined && { callerId: options.callerId }),
      plan,
      version,
      input,
      start,
      mocks: options.mocks ?? null,
      ...(options.until !== undefined && { until: stopBlockId(plan, options.until) }),
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      ...(options.signal && { signal: options.signal }),
      ...(options.via && { via: options.via }),
      ...(options.hasUnownedFiles && { hasUnownedFiles: true }),
      ...(reused && { reused }),
    });
  }

  #handleOf(run: LiveRun, selection: Selection): RunHandle {
    const { runId } = run;
    return {
      runId,
      result: () => this.#resultOf(run, selection),
      events: () => run.events(),
      cancel: async (reason) => {
        await this.cancel(runId, reason);
      },
    };
  }

  async #resultOf(run: LiveRun, selection: Selection): Promise<RunResource> {
    this.#requireOpen();
    await run.whenIdle();
    return this.#resource(run.runId, selection);
  }

  async #resource(runId: string, { select }: Selection): Promise<RunResource> {
    const { record, logs } = await this.#read(runId, select !== undefined);
    return resourceOf(record, this.#dependencies.values, { select, logs });
  }

  async #read(runId: string, withLogs: boolean): Promise<RecordWithLogs> {
    const run = await this.#dependencies.runtime.readRun(runId, { withLogs });
    if (!run) throw runNotFoundError(runId);
    return run;
  }

  async getRun(runId: string, { select }: Selection = {}): Promise<RunDetail> {
    this.#requireOpen();
    const { record, logs } = await this.#read(runId, select !== undefined);
    return detailOf(record, this.#dependencies.values, { select, logs });
  }

  async getLogs(runId: string): Promise<LogDetail[]> {
    this.#requireOpen();
    const { logs } = await this.#read(runId, true);
    return logDetails(logs, this.#dependencies.values);
  }

  async getTrace(runId: string): Promise<Span> {
    this.#requireOpen();
    const { record, logs } = await this.#read(runId, true);
    return traceOf(record, logs);
  }

  async *follow(runId: string, { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<RunEvent> {
    this.#requireOpen();
    const { stores, values, clock } = this.#dependencies;
    const definition = await readDefinition(this.#dependencies, runId);
    const mayContinue = (): boolean => this.#closePromise === undefined;
    const dependencies = { stores, values, clock, mayContinue, ...(signal && { signal }) };
    yield* follow(dependencies, definition);
  }

  async childRuns(runId: string): Promise<{ runId: string; workflowId: string; blockId: string }[]> {
    this.#requireOpen();
    const { runs } = this.#dependencies.stores;
    await this.#dependencies.runtime.whenSaved(runId);
    await readHeader(this.#dependencies, runId);
    const children: { runId: string; workflowId: string; blockId: string }[] = [];
    for (const id of await runs.childRunIds(runId)) {
      const child = await runs.header(id);
      if (child?.parent)
        children.push({ runId: id, workflowId: child.workflowId, blockId: child.parent.block });
    }
    return children;
  }

  async listRuns(query: RunListQuery = {}): Promise<{ runs: RunDetail[]; nextCursor: string | null }> {
    this.#requireOpen();
    const { stores, values, runtime } = this.#dependencies;
    const read = (listedRecord: RunRecord) =>
      runtime.readRun(listedRecord.runId, { withLogs: false, listedRecord });
    return listDetails({ runs: stores.runs, values, read }, query);
  }

  async planOf(runId: string): Promise<Plan> {
    this.#requireOpen();
    return (await readDefinition(this.#dependencies, runId)).plan;
  }

  async readValue(storedValue: StoredValue): Promise<Json> {
    this.#requireOpen();
    return this.#dependencies.values.load(storedValue);
  }

  async runChanges(limit: number): Promise<RunChanges> {
    this.#requireOpen();
    return readChanges(this.#dependencies, limit);
  }

  async runSizes(runIds: readonly string[]): Promise<Map<string, number>> {
    this.#requireOpen();
    return this.#dependencies.stores.changes.bytesOf(runIds);
  }

  async resume(
    runId: string,
    { token, input, ...selection }: { token?: string; input?: Json } & Selection = {},
  ): Promise<RunResource> {
    this.#requireOpen();
    await this.#dependencies.runtime.resume(runId, {
      ...(token !== undefined && { token }),
      ...(input !== undefined && { input: copyCallerJson(input, 'The answer', 'RESUME_INPUT_INVALID') }),
    });
    return this.#resource(runId, selection);
  }

  async cancel(runId: string, reason?: string): Promise<boolean> {
    this.#requireOpen();
    return this.#dependencies.runtime.cancel(runId, reason);
  }

  async runFromBlock(
    runId: string,
    reference: string,
    options: RunFromBlockOptions = {},
  ): Promise<RunHandle> {
    this.#requireOpen();
    const { target, block, source, header } = await this.#resolveRestart(runId, reference, options);
    const reused = collectReusedData(target.plan, block, source, options);
    const restartedRun = await this.#launch(target, {
      start: block.id,
      input: options.input ?? (await this.#dependencies.values.load(source.ledger.input)),
      options: { mocks: header.mocks, ...options },
      reused,
    });
    return this.#handleOf(restartedRun, options);
  }

  async previewFromBlock(
    runId: string,
    reference: string,
    { iterations, ...options }: Pick<RunFromBlockOptions, 'workflow' | 'iterations'> = {},
  ): Promise<RestartPreview> {
    this.#requireOpen();
    const { target, block, source } = await this.#resolveRestart(runId, reference, options);
    return previewReuse(target.plan, block, { source, iterations });
  }

  /**
   * Returns the workflow and the block that a run from a block executes, and the earlier run. Throws BLOCK_NOT_FOUND,
   * RUN_NOT_SETTLED.
   */
  async #resolveRestart(
    runId: string,
    reference: string,
    { workflow, version }: { workflow?: WorkflowSource; version?: number },
  ) {
    const { stores, definitions } = this.#dependencies;
    const { header, plan } = await readDefinition(this.#dependencies, runId);
    const target: VersionedPlan =
      workflow === undefined
        ? { plan, version: header.version }
        : await definitions.resolve(workflow, version);
    const block = findBlock(target.plan, reference);
    const source = replaySourceRun(runId, plan, await stores.runs.journal(runId));
    return { target, header, block, source };
  }

  async deleteRun(runId: string): Promise<void> {
    this.#requireOpen();
    const { stores, runtime } = this.#dependencies;
    await runtime.whenSaved(runId);
    const runIds = await endedRunTree(stores, runId);
    // Children are deleted first: if a deletion fails, the remaining runs can still be found from the parent.
    for (const id of runIds.toReversed()) {
      await stores.liveEvents.remove(id);
      await stores.values.prune((await stores.runs.remove(id)) ?? [], PRUNE_MIN_AGE_MS);
    }
  }

  async deleteFiles(keys: readonly string[]): Promise<void> {
    this.#requireOpen();
    await this.#dependencies.stores.values.prune(keys, PRUNE_MIN_AGE_MS);
  }

  async attach(runId: string): Promise<RunHandle> {
    this.#requireOpen();
    const run = await this.#dependencies.runtime.open(runId);
    if (run) return this.#handleOf(run, {});
    await readHeader(this.#dependencies, runId);
    throw new EngineError('RUN_ENDED', `Run ${runId} has ended.`);
  }

  #requireOpen(): void {
    if (this.#closePromise) throw new EngineError('ENGINE_CLOSED', 'The engine is closed: open another one.');
  }

  close(options: { graceMs?: number } = {}): Promise<void> {
    this.#closePromise ??= this.#dependencies.close(options.graceMs ?? 5000);
    return this.#closePromise;
  }
}

/** Returns the run id that the caller chose. Throws OPTIONS_INVALID for an id in the form of child run ids. */
function chosenRunId(runId: string | undefined): string | undefined {
  if (runId === undefined || !isChildRunId(runId)) return runId;
  throw new EngineError(
    'OPTIONS_INVALID',
    `The run cannot have the id ${runId}: UUIDs of version 8 are the ids of child runs. Choose another id.`,
  );
}

/** Minimum age of a value that may be deleted: a run that is starting may use a newer one. */
const PRUNE_MIN_AGE_MS = 3_600_000;

/** Returns the ids of the run and all its descendants, parents first. Throws RUN_NOT_FOUND, RUN_NOT_SETTLED. */
async function endedRunTree(stores: SharedStores, runId: string): Promise<string[]> {
  await readHeader({ stores }, runId);
  const { runs } = stores;
  const runIds = [runId];
  for (const id of runIds) {
    const record = await runs.record(id);
    if (!record || !isEnded(record.status))
      throw new EngineError('RUN_NOT_SETTLED', `Run ${id} has not ended: wait for its end, or cancel it.`);
    runIds.push(...(await runs.childRunIds(id)));
  }
  return runIds;
}

/**
 * Returns the id of the block that `reference` names. Throws BLOCK_NOT_FOUND, and START_NOT_FOUND if no run can start
 * there.
 */
function startBlockId(plan: Plan, reference: string): string {
  const block = findBlock(plan, reference);
  const candidates = startCandidates(plan);
  if (candidates.includes(block.id)) return block.id;
  const names = candidates.map((id) => `"${plan.blocks[id]?.name ?? id}"`).join(', ');
  throw new EngineError(
    'START_NOT_FOUND',
    `A run cannot start at "${block.name}": it is not a trigger. It can start at ${names}.`,
  );
}

/** Returns the id of the block after which the run stops. Throws BLOCK_NOT_FOUND, BLOCK_NOT_RESTARTABLE. */
function stopBlockId(plan: Plan, reference: string): string {
  const block = findBlock(plan, reference);
  if (block.containers.length === 0 && !block.trigger) return block.id;
  const reason = block.trigger ? 'it is where runs start' : 'it is inside a container';
  throw new EngineError('BLOCK_NOT_RESTARTABLE', `A run cannot stop after "${block.name}": ${reason}.`);
}
