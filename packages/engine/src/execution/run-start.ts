import { EngineError } from '@heddle/core';
import type { Json, RunHeader, Plan, RunRecord } from '@heddle/core';
import { oldestJournalFormat } from '@heddle/core/run';
import type { Entry, StoredValue } from '@heddle/core/run';
import { startOutput } from '../executors/start.ts';
import { parseMocks } from '../mocks/mocks.ts';
import { copyCallerJson } from '../json-copy.ts';
import { mapMaybePromise } from '../map-maybe-promise.ts';
import { newRecord } from '../records/run-record.ts';
import type { ReusedData } from '../rerun.ts';
import type { RestartEdits } from '../types.ts';
import type { RunEnvironment } from './run-environment.ts';
import { envNames, mayStartChildRuns } from './plan-queries.ts';
import type { RuntimeDependencies } from './runtime-dependencies.ts';
import { randomToken } from './tokens.ts';

/** A request to start a run. */
export interface StartRequest {
  runId: string;
  callerId?: string;
  plan: Plan;
  version: number | undefined;
  input: Json;
  /** Id of the start block. */
  start: string;
  /** Id of the block after which the run stops. */
  until?: string;
  timeoutMs?: number;
  /** If it is already aborted, the run is recorded but executes no block, so that a cancellation can end it. */
  signal?: AbortSignal;
  mocks: Json;
  parent?: RunHeader['parent'];
  /** The call chain: the workflows whose calls led to this run. */
  via?: readonly string[];
  /** True: a runtime of several processes will execute the run. */
  remote?: true;
  /** True: the input was accepted by a version that stored files without their owner. */
  hasUnownedFiles?: boolean;
  reused?: ReusedData;
}

/** The data that is stored when a run starts: its header, the first entry of its journal and its first record. */
export interface RunStart {
  header: RunHeader;
  firstEntry: Entry;
  record: RunRecord;
}

interface StartDependencies extends Pick<RuntimeDependencies, 'clock' | 'onError'> {
  environment: RunEnvironment;
}

/** Returns the data that is stored when the run starts. Throws INPUT_INVALID, OPTIONS_INVALID, DATA_UNWRITABLE. */
export function prepareStart(
  dependencies: StartDependencies,
  request: StartRequest,
): RunStart | Promise<RunStart> {
  const { environment, onError } = dependencies;
  const mocksError = unusedMocksError(request);
  if (mocksError) onError(mocksError, request.runId);
  const start = request.plan.blocks[request.start];
  const input = copyCallerJson(request.input, 'The input', 'INPUT_INVALID');
  if (start?.trigger) startOutput(start, input);
  return mapMaybePromise(environment.sanitizer.storeCallerValue(input, 'The input'), (storedInput) =>
    mapMaybePromise(reuseOf(environment, request.reused), (reused) =>
      createStart(dependencies, request, { input: storedInput, reused }),
    ),
  );
}

type StartedEntry = Extract<Entry, { type: 'started' }>;
type StoredReuse = NonNullable<StartedEntry['reused']>;

/** Returns the reused data of the earlier run, with the edits applied, as the journal stores it. */
function reuseOf(
  { sanitizer }: RunEnvironment,
  reused: ReusedData | undefined,
): StoredReuse | undefined | Promise<StoredReuse> {
  if (!reused) return undefined;
  return reused.edits ? applyEdits(sanitizer, reused, reused.edits) : storedReuse(reused, {});
}

/**
 * Returns the data that the run reuses. `replacements`: outputs that replace those of the earlier run, by block id.
 */
function storedReuse(
  { runId, outputs, inside }: ReusedData,
  replacements: StoredReuse['outputs'],
): StoredReuse {
  const topLevel = Object.entries(replacements).filter(([id]) => Object.hasOwn(outputs, id));
  const nested = Object.entries(replacements).filter(([id]) => !Object.hasOwn(outputs, id));
  return {
    runId,
    outputs: { ...outputs, ...Object.fromEntries(topLevel) },
    ...(inside && {
      inside: { frames: inside.frames, scope: inside.scopeWith(Object.fromEntries(nested)) },
    }),
  };
}

/** Returns the reused data with edits. Stores the replacement values, without secrets. */
async function applyEdits(
  sanitizer: RunEnvironment['sanitizer'],
  reused: ReusedData,
  { fields = {}, outputs: replacements = {} }: RestartEdits,
): Promise<StoredReuse> {
  const storedReplacements = await sanitizer.storeCallerValues(replacements, 'A replaced output');
  return {
    ...storedReuse(reused, storedReplacements),
    ...(Object.keys(fields).length > 0 && {
      fields: await sanitizer.storeCallerValue(fields, 'The replaced fields'),
    }),
  };
}

interface StartValues {
  input: StoredValue;
  reused: StoredReuse | undefined;
}

function createStart(
  { clock, environment }: StartDependencies,
  request: StartRequest,
  { input, reused }: StartValues,
): RunStart {
  const { plan } = request;
  const createdMs = clock.now();
  const header: RunHeader = {
    runId: request.runId,
    ...(request.callerId !== undefined && { callerId: request.callerId }),
    workflowId: plan.workflow.id,
    planHash: plan.hash,
    version: request.version,
    parent: request.parent,
    // A copy, because the caller may change the original.
    mocks: request.mocks === null ? null : (JSON.parse(JSON.stringify(request.mocks)) as Json),
    env: envNames(plan).filter((name) => Object.hasOwn(environment.values, name)),
    createdMs,
    ...(request.via && request.via.length > 0 && { via: [...request.via] }),
    ...(mayStartChildRuns(plan) && { childKey: randomToken() }),
    ...(!request.hasUnownedFiles && { ownsFiles: true }),
    ...(request.remote && { elsewhere: true, tokenKey: randomToken() }),
  };
  const firstEntry: Entry = {
    seq: 1,
    atMs: createdMs,
    type: 'started',
    format: oldestJournalFormat(reused),
    start: request.start,
    input,
    graceMs: plan.limits.graceMs,
    variables:
      request.reused?.variables ?? Object.fromEntries(plan.variables.map(({ id, value }) => [id, value])),
    ...(request.until !== undefined && { until: request.until }),
    ...limitsOf(request),
    ...(reused && { reused }),
  };
  const { name: workflowName } = plan.workflow;
  const record = newRecord(header, { workflowName, startedMs: createdMs, input, seq: 0 });
  return { header, firstEntry, record };
}

/**
 * Returns the error that reports mocks that match no block: a mistyped name would silently run the real block. Returns
 * undefined if all match, or if the workflow calls other workflows, because a mock may be for one of their blocks.
 */
function unusedMocksError({ plan, mocks, parent }: StartRequest): EngineError | undefined {
  if (mocks === null || parent) return undefined;
  const unusedNames = parseMocks(mocks).unusedNames(Object.values(plan.blocks));
  if (unusedNames.length === 0 || mayStartChildRuns(plan)) return undefined;
  const names = unusedNames.map((name) => `"${name}"`).join(', ');
  return new EngineError('OPTIONS_INVALID', `The mocks name unknown blocks: ${names}.`);
}

function limitsOf(request: StartRequest): { timeoutMs?: number; activeOnly?: boolean } {
  const { limits } = request.plan;
  const timeoutMs = request.timeoutMs ?? limits.timeoutMs;
  if (timeoutMs === undefined) return {};
  return limits.deadline === 'active' ? { timeoutMs, activeOnly: true } : { timeoutMs };
}
