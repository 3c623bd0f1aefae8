import { EngineError, isBlockError } from '@heddle/core';
import type { Json, NewRun, Plan, RunRecord } from '@heddle/core';
import { JOURNAL_FORMAT } from '@heddle/core/run';
import type { Entry, Stored } from '@heddle/core/run';
import { startOutput } from '../executors/start.ts';
import { parseMocks } from '../mocks/mocks.ts';
import { jsonCopy } from '../json-copy.ts';
import { after } from './answer.ts';
import type { RunEnvironment } from './run-environment.ts';
import { envNames, hasChildren } from './plan-queries.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { randomToken } from './tokens.ts';

/** A run to be. */
export interface RunRequest {
  runId: string;
  callerId?: string;
  plan: Plan;
  version: number | undefined;
  input: Json;
  /** Id of the block it starts at. */
  start: string;
  until?: string;
  timeoutMs?: number;
  /** Aborted already: the run is recorded and stands still, so that a cancel can end it. */
  signal?: AbortSignal;
  mocks: Json;
  parent?: NewRun['parent'];
  via?: readonly string[];
  /** A runtime of many processes asks. */
  elsewhere?: true;
  /** Its input was accepted by a version that stored files without their owner. */
  olderFiles?: boolean;
  reused?: { runId: string; outputs: { [blockId: string]: Stored }; variables: { [id: string]: Json } };
}

/** What a run begins with: its header, the first entry of its journal, and the record by which it is listed. */
export interface Beginning {
  header: NewRun;
  first: Entry;
  record: RunRecord;
}

interface StartParts extends Pick<RuntimeParts, 'clock' | 'report'> {
  environment: RunEnvironment;
}

/** The beginning of a run. Throws INPUT_INVALID, OPTIONS_INVALID, DATA_UNWRITABLE. */
export function beginningOf(parts: StartParts, request: RunRequest): Beginning | Promise<Beginning> {
  const { environment, report } = parts;
  const unused = unusedMocks(request);
  if (unused) report(unused, request.runId);
  const start = request.plan.blocks[request.start];
  const input = callersJson(request.input);
  if (start?.trigger) startOutput(start, input);
  return after(environment.keeper.keepForCaller(input, 'The input'), (kept) =>
    beginningWith(parts, request, kept),
  );
}

function beginningWith({ clock, environment }: StartParts, request: RunRequest, input: Stored): Beginning {
  const { plan, reused } = request;
  const createdMs = clock.now();
  const header: NewRun = {
    runId: request.runId,
    ...(request.callerId !== undefined && { callerId: request.callerId }),
    workflowId: plan.workflow.id,
    planHash: plan.hash,
    version: request.version,
    parent: request.parent,
    // The caller's own, who may change them.
    mocks: request.mocks === null ? null : (JSON.parse(JSON.stringify(request.mocks)) as Json),
    env: envNames(plan).filter((name) => Object.hasOwn(environment.values, name)),
    createdMs,
    ...(request.via && request.via.length > 0 && { via: [...request.via] }),
    ...(hasChildren(plan) && { childKey: randomToken() }),
    ...(!request.olderFiles && { ownsFiles: true }),
    ...(request.elsewhere && { elsewhere: true, tokenKey: randomToken() }),
  };
  const first: Entry = {
    seq: 1,
    atMs: createdMs,
    type: 'started',
    format: JOURNAL_FORMAT,
    start: request.start,
    input,
    graceMs: plan.limits.graceMs,
    variables: reused?.variables ?? Object.fromEntries(plan.variables.map(({ id, value }) => [id, value])),
    ...(request.until !== undefined && { until: request.until }),
    ...limitsOf(request),
    ...(reused && { reused: { runId: reused.runId, outputs: reused.outputs } }),
  };
  return { header, first, record: firstRecord(header, plan.workflow.name, input) };
}

/** The record of a run that has done nothing yet. */
function firstRecord(header: NewRun, workflowName: string, input: Stored): RunRecord {
  const { runId, callerId, workflowId, createdMs, parent } = header;
  return {
    runId,
    ...(callerId !== undefined && { callerId }),
    workflowId,
    workflowName,
    status: 'running',
    pauseKind: undefined,
    createdMs,
    startedMs: createdMs,
    endedMs: undefined,
    input,
    output: undefined,
    error: undefined,
    pauses: [],
    parentRunId: parent?.runId,
    seq: 0,
    suspended: undefined,
  };
}

/** What a caller gave as input, as JSON. Throws INPUT_INVALID. */
function callersJson(value: unknown): Json {
  try {
    return jsonCopy(value, 'The input').json;
  } catch (error) {
    if (!isBlockError(error)) throw error;
    throw new EngineError('INPUT_INVALID', error.message);
  }
}

/** A mistyped name would silently run the real block. A workflow that calls others may mean one of theirs. */
function unusedMocks({ plan, mocks, parent }: RunRequest): EngineError | undefined {
  if (mocks === null || parent) return undefined;
  const unused = parseMocks(mocks).unusedNames(Object.values(plan.blocks));
  if (unused.length === 0 || hasChildren(plan)) return undefined;
  const names = unused.map((name) => `"${name}"`).join(', ');
  return new EngineError(
    'OPTIONS_INVALID',
    `The mocks name blocks that the workflow does not have: ${names}.`,
  );
}

function limitsOf(request: RunRequest): { timeoutMs?: number; activeOnly?: boolean } {
  const { limits } = request.plan;
  const timeoutMs = request.timeoutMs ?? limits.timeoutMs;
  if (timeoutMs === undefined) return {};
  return limits.deadline === 'active' ? { timeoutMs, activeOnly: true } : { timeoutMs };
}
