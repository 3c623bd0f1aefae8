import type { Json } from '@heddle/core';
import { callChainOf } from '../../admission/call-chain.ts';
import { admitRun } from '../../admission/admit-run.ts';
import type { Release, RunRequest } from '../../admission/usage.ts';
import { expectAccess } from '../../auth/authorize.ts';
import { accountOf } from '../../auth/principal.ts';
import { isRunIdTaken } from '../../engine-errors.ts';
import { ApiError, forbidden } from '../../errors.ts';
import { defineOperation } from '../../operation.ts';
import type { Call, Reply } from '../../operation.ts';
import type { Services } from '../../services.ts';
import type { WorkflowRow } from '../../store/schema.ts';
import { accepts } from '../../http/parse.ts';
import { noQuery, workflowPath } from '../shapes.ts';
import { readGraph } from '../workflows/graph.ts';
import { expectWorkflow } from '../workflows/operations.ts';
import { activeVersion } from '../workflows/views.ts';
import { reserveRunId, modeOf, runIdConflict } from './reserve-run-id.ts';
import { MAX_INLINE_BYTES, filesFor, base64Inliner } from './files.ts';
import { engineIds, withCallerId } from './ids.ts';
import type { RunIds } from './ids.ts';
import { agentEventsOf, expectCombination, expectPresent, expectRunIdForm, isManual } from './rules.ts';
import * as schemas from './schemas.ts';
import type { ExecuteBody, RunResult } from './schemas.ts';
import { publicRefusal, publicResult } from './public-result.ts';
import { blocksOf, resolveSelectors } from './selected.ts';
import type { Selected } from './selected.ts';
import { originFrom, startRun } from './start.ts';
import type { RunOrigin } from './start.ts';
import { RunStartedError } from './started.ts';
import type { QueuedStart } from './store.ts';
import { finalResult, ndjson, serverSentEvents } from './streams.ts';
import type { Streamed } from './streams.ts';
import { storeInputFiles } from './take-files.ts';
import { receiptOf } from './views.ts';

type ExecuteCall = Call<{ workflowId: string }, object, ExecuteBody>;
type Claimed = ExecuteCall & RunIds & { wantsLines: boolean };
type Admitted = Claimed & { leave: Release | undefined };

export const executeWorkflow = defineOperation({
  id: 'executeWorkflowV2',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/execute',
  tag: 'Workflow Runs',
  summary: 'Execute a workflow',
  scope: 'api:write',
  role: 'read',
  workspaceKeys: true,
  resource: 'workflow',
  params: workflowPath,
  query: noQuery,
  body: schemas.executeBody,
  success: [
    {
      status: 200,
      schema: schemas.runResult,
      description: 'What has come of the run, also of one that failed',
    },
    { status: 202, schema: schemas.receipt, description: 'The run was accepted' },
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
  executes: true,
  public: true,
  check({ body, headers, principal }) {
    expectRunIdForm(headers);
    expectCombination(body, headers, principal);
  },
  async handle(services, call, found) {
    const workflow = expectWorkflow(found);
    const { body, principal, headers } = call;
    if (isManual(body)) {
      const demand = { role: 'write', workspaceKeys: false, noun: 'Workflow' } as const;
      await expectAccess(services.store, principal, workflow.workspace_id, demand);
    }
    const ids = await reserveRunId(services, workflow, call);
    const { reservations, publicRuns } = services.store;
    try {
      if (principal.anonymous)
        await publicRuns.add({ run_id: ids.engineId, created_at: new Date(services.now()).toISOString() });
      return await run(services, workflow, { ...call, ...ids, wantsLines: wantsLines(headers, body) });
    } catch (error) {
      // Nothing has come of the id, so it can be used again; unless the engine has a run of it.
      if (isRunIdTaken(error)) throw runIdConflict(ids.runId);
      if (!(error instanceof RunStartedError)) {
        await reservations.release(ids.engineId);
        if (principal.anonymous) await publicRuns.release(ids.engineId);
      }
      const reason = error instanceof RunStartedError ? error.reason : error;
      throw principal.anonymous ? publicRefusal(reason) : reason;
    }
  },
});

async function run(services: Services, workflow: WorkflowRow, call: Claimed): Promise<Reply> {
  const { body, principal } = call;
  const from = await originFrom(services, await sourceOf(services, workflow, body), body);
  const leave = await admitRun(services, demandOf(workflow, call), accountOf(principal));
  try {
    return await admitted(services, from, { ...call, leave });
  } catch (error) {
    leave?.();
    throw error;
  }
}

/** The run that is let in. What it holds is left when it moves no more; here only where it is never begun. */
async function admitted(services: Services, from: RunOrigin, call: Admitted): Promise<Reply> {
  const { signal, engineId, runId, origin, leave, principal } = call;
  const { anonymous: isPublic = false } = principal;
  const ids = { engineId, runId };
  const headers = { 'X-Run-Id': runId };
  const body = await storeInputFiles(services, from, call.body, { ...ids, signal, isPublic });
  if (body.async) {
    await accept(services, from, { ...call, body });
    return { status: 202, headers, data: receiptOf(from.workflow.id, runId, origin) };
  }
  const selected = await selectionOf(services, from, body);
  expectPresent(signal);
  const leaving = abortsWith(signal);
  const { syncSeconds } = services.policy;
  const timeout = syncSeconds === undefined ? {} : { timeoutMs: syncSeconds * 1000 };
  const started = await startRun(services, from, body, {
    ...{ ...engineIds(ids), via: callChainOf(call.headers), signal: leaving.signal },
    ...timeout,
  });
  if (leave) void started.result().then(leave, leave);
  const show = shownWith(services, body, call);
  const agents = isPublic ? undefined : agentEventsOf(call.headers, body);
  const view = isPublic ? publicResult : (result: RunResult): RunResult => result;
  const streamed = { run: started, runId, selected, agents, show, view, abandon: leaving.abort, headers };
  if (body.stream) return { raw: serverSentEvents(services, streamed) };
  if (call.wantsLines) return { raw: ndjson(services, streamed) };
  try {
    const result = await withCallerId(ids, () => finalResult(services, streamed));
    if (!signal.aborted || result.status !== 'cancelled') return { headers, data: result };
  } catch (error) {
    throw new RunStartedError(error);
  } finally {
    leaving.forget();
  }
  throw new RunStartedError(new ApiError(499, 'Client cancelled request', { details: { runId } }));
}

/** The version that is live, or the draft. Throws 403 for a workflow that is not deployed. */
async function sourceOf(
  services: Services,
  workflow: WorkflowRow,
  body: ExecuteBody,
): Promise<Omit<RunOrigin, 'start'>> {
  if (isManual(body)) return { workflow, version: undefined };
  const version = await activeVersion(services, workflow);
  if (!version) throw forbidden('WORKFLOW_NOT_DEPLOYED', 'Workflow is not deployed');
  return { workflow, version };
}

/** Records what the run is started with, before anything of it is promised. */
async function accept(services: Services, from: RunOrigin, call: Admitted): Promise<void> {
  const { body, headers, engineId, runId, leave } = call;
  const via = callChainOf(headers);
  const seconds = [services.policy.asyncSeconds, body.executionTimeoutSeconds].filter(
    (each) => each !== undefined,
  );
  const version = from.version?.engine_version ?? 0;
  const waiting: QueuedStart = {
    input: await services.engine.redact(from.workflow.id, (body.input ?? {}) as Json, { version }),
    version,
    ownsFiles: true,
    ...(from.start !== undefined && { start: from.start }),
    ...(via.length > 0 && { via }),
    ...(seconds.length > 0 && { timeoutMs: Math.min(...seconds) * 1000 }),
  };
  try {
    await services.store.reservations.enqueue(engineId, waiting);
  } catch (error) {
    services.report(error);
    throw new RunStartedError(
      new ApiError(503, 'The run may or may not have been accepted', {
        details: { code: 'ASYNC_ENQUEUE_AMBIGUOUS', runId },
        headers: { 'X-Run-Id': runId },
      }),
    );
  }
  services.queue.submit({ engineId, runId, workflowId: from.workflow.id, waiting, leave });
}

/** How values of the run are shown: with the contents of their files, unless they are not wanted. */
function shownWith(
  { engine }: Services,
  { includeFileBase64, base64MaxBytes }: ExecuteBody,
  { engineId, signal }: Pick<Admitted, 'engineId' | 'signal'>,
): Streamed['show'] {
  if (includeFileBase64 === false) return (value) => Promise.resolve(value);
  return base64Inliner(() => filesFor(engine, engineId, signal), base64MaxBytes ?? MAX_INLINE_BYTES);
}

async function selectionOf(
  services: Services,
  { workflow, version }: RunOrigin,
  { selectedOutputs }: ExecuteBody,
): Promise<Selected[] | undefined> {
  if (selectedOutputs === undefined) return undefined;
  const blocks = blocksOf(readGraph(version?.state ?? workflow.state));
  return resolveSelectors(services, selectedOutputs, { workflow, blocks });
}

function demandOf(workflow: WorkflowRow, { engineId, body, principal }: Claimed): RunRequest {
  const mode = modeOf(body);
  const { id: workflowId, workspace_id: workspaceId } = workflow;
  return { runId: engineId, workflowId, workspaceId, userId: principal.userId, mode };
}

function wantsLines(headers: Headers, body: ExecuteBody): boolean {
  return !body.async && !body.stream && accepts(headers, 'application/x-ndjson');
}

/** A signal of the run's own: a connection that closes long after its answer must not end a run that is paused. */
function abortsWith(signal: AbortSignal): { signal: AbortSignal; abort: () => void; forget: () => void } {
  const own = new AbortController();
  const abort = (): void => own.abort();
  signal.addEventListener('abort', abort, { once: true });
  return { signal: own.signal, abort, forget: () => signal.removeEventListener('abort', abort) };
}
