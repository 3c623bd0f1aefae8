import { isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import { admitRun } from '../../admission/admit-run.ts';
import { callChainOf } from '../../admission/call-chain.ts';
import type { Release, RunRequest } from '../../admission/usage.ts';
import type { AreaContext } from '../../context.ts';
import { requireAccess } from '../../auth/authorize.ts';
import { AUTHENTICATED_PRINCIPALS, USER_PRINCIPALS, accountOf } from '../../auth/principal.ts';
import { ApiError, badRequest, clientClosedRequest, isRunIdTaken, runIdConflict } from '../../errors.ts';
import { accepts } from '../../http/parse.ts';
import { operationFactory } from '../../operation.ts';
import type { Call, Reply } from '../../operation.ts';
import type { Definition, QueuedStart } from '../../ports.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { noQuery, workflowPath } from '../common-schemas.ts';
import { MAX_INLINE_BYTES, createBase64Inliner, openFileReader } from './files.ts';
import { runIdOptions, withCallerRunId } from './ids.ts';
import type { RunIds } from './ids.ts';
import { toPublicRefusal, toPublicResult } from './public-result.ts';
import { redactMessage } from './redacted-message.ts';
import { modeOf, reserveRunId } from './reserve-run-id.ts';
import {
  agentEventsOf,
  requireValidCombination,
  requireConnected,
  requireLiveVersion,
  requireValidRunId,
  isManual,
} from './rules.ts';
import * as schemas from './schemas.ts';
import type { ExecuteBody, RunResult } from './schemas.ts';
import { resolveSelectors } from './selected-outputs.ts';
import type { ResolvedSelector } from './selected-outputs.ts';
import { draftOf, resolveStart, sourceOf, startRun } from './start.ts';
import type { PageTrigger, RunOrigin } from './start.ts';
import { waitForResult, respondWithEvents, respondWithLines } from './streams.ts';
import type { StreamedRun } from './streams.ts';
import { acceptedRunOf } from './views.ts';

type ExecuteCall = Pick<
  Call<object, object, ExecuteBody>,
  'body' | 'headers' | 'principal' | 'signal' | 'origin'
> & {
  /** The page of the workflow that starts the run. Absent: a call of the operation. */
  page?: PageTrigger;
};
type ReservedCall = ExecuteCall & RunIds & { wantsNdjson: boolean };
type AdmittedCall = ReservedCall & { release: Release | undefined };

/** An error after which the run id stays reserved: the run has started, may be queued, or has a recorded failure. */
class ReservationKeptError extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('The run id stays reserved.');
    this.reason = reason;
  }
}

export const executeWorkflow = operationFactory<AreaContext>()({
  id: 'executeWorkflowV2',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/execute',
  tag: 'Workflow Runs',
  summary: 'Execute a workflow',
  principals: [...AUTHENTICATED_PRINCIPALS, 'anonymous'],
  scope: 'api:write',
  role: 'read',
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
  body: schemas.executeBody,
  success: [
    {
      status: 200,
      schema: schemas.runResult,
      description: 'The result of the run, even if it failed',
    },
    { status: 202, schema: schemas.acceptedRun, description: 'The run was accepted' },
  ],
  streams: [
    {
      type: 'text/event-stream',
      description: 'With `stream`: chunks, then `final` or `error`, then `"[DONE]"`',
    },
    {
      type: 'application/x-ndjson',
      description: 'With `Accept: application/x-ndjson`: heartbeats, then the result',
    },
  ],
  errors: [400, 401, 402, 403, 404, 409, 413, 415, 429, 503],
  executesWorkflow: true,
  check({ body, headers, principal }) {
    requireValidRunId(headers);
    requireValidCombination(body, headers, principal);
  },
  handle: (services, call, workflow) => executeCall(services, call, workflow),
});

/** Executes the workflow for an authorized caller. */
export async function executeCall(
  services: AreaContext,
  call: ExecuteCall,
  workflow: Definition,
): Promise<Reply> {
  const { body, principal, headers } = call;
  await requireModeAllowed(services, workflow, call);
  const ids = await reserveRunId(services, workflow, call);
  const { reservations, publicRuns } = services;
  try {
    if (principal.anonymous) await publicRuns?.add(ids.engineRunId, new Date(services.now()).toISOString());
    return await execute(services, workflow, { ...call, ...ids, wantsNdjson: wantsNdjson(headers, body) });
  } catch (error) {
    // The engine has a run with this id, so the id stays used.
    if (isRunIdTaken(error)) throw runIdConflict(ids.runId);
    if (!(error instanceof ReservationKeptError)) {
      await reservations.release(ids.engineRunId);
      if (principal.anonymous) await publicRuns?.release(ids.engineRunId);
    }
    const reason = error instanceof ReservationKeptError ? error.reason : error;
    throw principal.anonymous ? toPublicRefusal(reason) : reason;
  }
}

/** Throws 403 for a caller who may not run drafts, 400 for an asynchronous run if there is no queue. */
async function requireModeAllowed(
  services: AreaContext,
  { workspaceId }: Definition,
  { body, principal }: Pick<ExecuteCall, 'body' | 'principal'>,
): Promise<void> {
  if (isManual(body)) {
    const requirement = { role: 'write', principals: USER_PRINCIPALS, displayName: 'Workflow' } as const;
    await requireAccess(services, principal, workspaceId, requirement);
  }
  if (body.async && !services.queue) throw badRequest('Runs cannot be started asynchronously here');
}

async function execute(services: AreaContext, workflow: Definition, call: ReservedCall): Promise<Reply> {
  const { body, principal, page } = call;
  const originWithoutStart = await findRunOrigin(services, workflow, body);
  const runOrigin = await resolveStart(services, originWithoutStart, { run: body.run, page });
  const release = await admitRun(services, runRequestOf(workflow, call), accountOf(principal));
  try {
    return await startOrQueue(services, runOrigin, { ...call, release });
  } catch (error) {
    release?.();
    throw error;
  }
}

/**
 * Starts or queues an admitted run. `release` is called when the run settles. If this function throws, the caller must
 * call `release`.
 */
async function startOrQueue(services: AreaContext, runOrigin: RunOrigin, call: AdmittedCall): Promise<Reply> {
  const { signal, engineRunId, runId, origin, release, principal } = call;
  const { anonymous: isPublic = false } = principal;
  const ids = { engineRunId, runId };
  const headers = { 'X-Run-Id': runId };
  const body = await storeInputFiles(services, runOrigin, call.body, { ...ids, signal, isPublic });
  if (body.async) {
    await enqueue(services, runOrigin, { ...call, body });
    return { status: 202, headers, data: acceptedRunOf(runOrigin.workflow.id, runId, origin) };
  }
  const selectors = await resolveSelectedOutputs(services, runOrigin, body);
  requireConnected(signal);
  const cancellation = createCancellation(signal);
  const { syncSeconds } = services.timeouts;
  const timeout = syncSeconds === undefined ? {} : { timeoutMs: syncSeconds * 1000 };
  const run = await startRun(services, runOrigin, body, {
    ...{ ...runIdOptions(ids), via: callChainOf(call.headers), signal: cancellation.signal },
    ...timeout,
  });
  if (release) void run.result().then(release, release);
  const inlineFiles = createFileInliner(services, body, call);
  const agentEvents = streamedAgentEvents(call, body);
  const restrict = isPublic ? toPublicResult : (result: RunResult): RunResult => result;
  const streamedRun = {
    ...{ run, runId, selectors, agentEvents, inlineFiles, restrict, headers },
    cancel: cancellation.abort,
  };
  if (body.stream) return { raw: respondWithEvents(services, streamedRun) };
  if (call.wantsNdjson) return { raw: respondWithLines(services, streamedRun) };
  try {
    const result = await withCallerRunId(ids, () => waitForResult(services, streamedRun));
    if (!signal.aborted || result.status !== 'cancelled') return { headers, data: result };
  } catch (error) {
    throw new ReservationKeptError(error);
  } finally {
    cancellation.detach();
  }
  throw new ReservationKeptError(clientClosedRequest(runId));
}

/**
 * Returns which agent events are streamed besides text. On pages, only text is streamed as it arrives; other anonymous
 * callers get outputs when their blocks end.
 */
function streamedAgentEvents(
  { principal, page, headers }: AdmittedCall,
  body: ExecuteBody,
): StreamedRun['agentEvents'] {
  if (!principal.anonymous) return agentEventsOf(headers, body);
  return page && { thinking: false, tools: false };
}

/** Returns the live version or the draft to run. Throws 403 for a workflow that is not deployed. */
async function findRunOrigin(
  services: AreaContext,
  workflow: Definition,
  body: ExecuteBody,
): Promise<Omit<RunOrigin, 'start'>> {
  if (isManual(body)) return { workflow, versionOrDraft: await draftOf(services, workflow) };
  return { workflow, versionOrDraft: { version: requireLiveVersion(workflow) } };
}

/**
 * Stores the files in the input, and returns the body with file records in their place. Throws 400 for a file that
 * cannot be stored. That failure is recorded, and the run id stays used.
 */
async function storeInputFiles(
  services: AreaContext,
  runOrigin: RunOrigin,
  body: ExecuteBody,
  { engineRunId, runId, signal, isPublic }: RunIds & { signal: AbortSignal; isPublic: boolean },
): Promise<ExecuteBody> {
  if (body.input === undefined || runOrigin.start === undefined) return body;
  const [workflow, versionOption] = sourceOf(runOrigin);
  const { files, fileBytes: bytes } = services.publicInputLimits;
  const storedKeys: string[] = [];
  const options = {
    ...versionOption,
    start: runOrigin.start,
    signal,
    onStored: ({ key }: { key: string }): void => void storedKeys.push(key),
    ...(isPublic && { limits: { files, bytes } }),
  };
  try {
    const input = await services.engine.storeFiles(workflow, body.input as Json, options);
    return { ...body, input: input as ExecuteBody['input'] };
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'INPUT_INVALID') throw error;
    requireConnected(signal);
    const reason = await redactMessage(services.engine, workflow, error.message, versionOption);
    const message = `File processing failed: ${reason}`;
    await services.reservations.fail(engineRunId, { reason: 'INVALID_INPUT', message });
    const errorOptions = { details: { runId }, headers: { 'X-Run-Id': runId } };
    throw new ReservationKeptError(new ApiError(400, message, errorOptions));
  } finally {
    if (isPublic && storedKeys.length > 0) await services.publicRuns?.addFiles(engineRunId, storedKeys);
  }
}

/** Stores the queued run with its input and submits it. The caller gets the 202 only after this. */
async function enqueue(services: AreaContext, runOrigin: RunOrigin, call: AdmittedCall): Promise<void> {
  const { body, headers, engineRunId, runId, release } = call;
  const { queue } = services;
  if (!queue) throw new TypeError('There is no queue.');
  const via = callChainOf(headers);
  const timeoutsInSeconds = [services.timeouts.asyncSeconds, body.executionTimeoutSeconds].filter(
    (seconds) => seconds !== undefined,
  );
  const version = runOrigin.workflow.liveVersion ?? 0;
  const start: QueuedStart = {
    input: await services.engine.redact(runOrigin.workflow.id, (body.input ?? {}) as Json, { version }),
    version,
    ownsFiles: true,
    ...(runOrigin.start !== undefined && { start: runOrigin.start }),
    ...(via.length > 0 && { via }),
    ...(timeoutsInSeconds.length > 0 && { timeoutMs: Math.min(...timeoutsInSeconds) * 1000 }),
  };
  try {
    await queue.add(engineRunId, start);
  } catch (error) {
    services.onError(error);
    throw new ReservationKeptError(
      new ApiError(503, 'The run may or may not have been accepted', {
        details: { code: 'ASYNC_ENQUEUE_AMBIGUOUS', runId },
        headers: { 'X-Run-Id': runId },
      }),
    );
  }
  const { id: workflowId, workspaceId } = runOrigin.workflow;
  queue.submit({ engineRunId, runId, workflowId, workspaceId, start, release });
}

/** Returns a function that adds the contents of files to values of the run, unless the body excludes them. */
function createFileInliner(
  { engine }: AreaContext,
  { includeFileBase64, base64MaxBytes }: ExecuteBody,
  { engineRunId, signal }: Pick<AdmittedCall, 'engineRunId' | 'signal'>,
): StreamedRun['inlineFiles'] {
  if (includeFileBase64 === false) return (value) => Promise.resolve(value);
  return createBase64Inliner(
    () => openFileReader(engine, engineRunId, signal),
    base64MaxBytes ?? MAX_INLINE_BYTES,
  );
}

async function resolveSelectedOutputs(
  services: AreaContext,
  runOrigin: RunOrigin,
  { selectedOutputs }: ExecuteBody,
): Promise<ResolvedSelector[] | undefined> {
  if (selectedOutputs === undefined) return undefined;
  const blocks = await services.engine.blocks(...sourceOf(runOrigin));
  return resolveSelectors(services, selectedOutputs, { workflow: runOrigin.workflow, blocks });
}

function runRequestOf(workflow: Definition, { engineRunId, body, principal }: ReservedCall): RunRequest {
  const mode = modeOf(body);
  const { id: workflowId, workspaceId } = workflow;
  return { runId: engineRunId, workflowId, workspaceId, userId: principal.userId, mode };
}

function wantsNdjson(headers: Headers, body: ExecuteBody): boolean {
  return !body.async && !body.stream && accepts(headers, 'application/x-ndjson');
}

/**
 * Returns a signal that follows the signal of the request until it is detached: a connection that closes long after its
 * response must not cancel a paused run.
 */
function createCancellation(signal: AbortSignal): {
  signal: AbortSignal;
  abort: () => void;
  detach: () => void;
} {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    abort,
    detach: () => signal.removeEventListener('abort', abort),
  };
}
