import { randomUUID } from 'node:crypto';
import { takeFrom } from '../../admission/limiter.ts';
import { expectAccess } from '../../auth/authorize.ts';
import { isRunIdTaken } from '../../engine-errors.ts';
import { ApiError, badRequest, forbidden, unavailable } from '../../errors.ts';
import { defineOperation } from '../../operation.ts';
import type { Call, Reply } from '../../operation.ts';
import type { Services } from '../../services.ts';
import type { ClaimRow, WorkflowRow } from '../../store/schema.ts';
import { noQuery, workflowPath } from '../shapes.ts';
import { readGraph } from '../workflows/graph.ts';
import { expectWorkflow } from '../workflows/operations.ts';
import { activeVersion } from '../workflows/views.ts';
import { expectCombination, expectPresent, expectShortChain, isManual } from './rules.ts';
import * as schemas from './schemas.ts';
import type { ExecuteBody } from './schemas.ts';
import { blocksOf, resolveSelectors } from './selected.ts';
import type { Selected } from './selected.ts';
import { startRun } from './start.ts';
import type { Origin } from './start.ts';
import { finalResult, ndjson, serverSentEvents } from './streams.ts';

/** How often an id of our own is taken that turns out to be used. */
const MOST_CLAIMS = 3;

type ExecuteCall = Call<{ workflowId: string }, object, ExecuteBody>;

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
  enter({ capacity }, { headers }) {
    expectShortChain(headers);
    return capacity.enter();
  },
  check({ body, headers }) {
    expectCombination(body, headers);
  },
  async handle(services, call, found) {
    const workflow = expectWorkflow(found);
    const { body, principal, headers } = call;
    if (isManual(body)) {
      const demand = { role: 'write', workspaceKeys: false, noun: 'Workflow' } as const;
      await expectAccess(services.store, principal, workflow.workspace_id, demand);
    }
    const runId = await claim(services, workflow, call);
    try {
      return await run(services, workflow, { ...call, runId, wantsLines: wantsLines(headers, body) });
    } catch (error) {
      // Nothing has come of the id, so it can be used again; unless the engine has a run of it.
      if (isRunIdTaken(error)) throw taken(runId);
      if (!(error instanceof Started)) await services.store.claims.release(runId);
      throw error instanceof Started ? error.reason : error;
    }
  },
});

/** What went wrong with a run that has begun: its id is used. */
class Started extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('The run has begun.');
    this.reason = reason;
  }
}

async function run(
  services: Services,
  workflow: WorkflowRow,
  call: ExecuteCall & { runId: string; wantsLines: boolean },
): Promise<Reply> {
  const { body, principal, signal, runId, origin } = call;
  const from = await originOf(services, workflow, body);
  const holder = principal.userId ?? principal.workspaceId ?? principal.credentialId;
  const kind = body.async ? 'async' : 'sync';
  await takeFrom(services.limiter, kind, [holder], { nowMs: services.now(), reason: 'RATE_LIMIT_EXCEEDED' });
  const headers = { 'X-Run-Id': runId };
  if (body.async) {
    await accept(services, from, body, runId);
    const statusUrl = `${origin}/api/v2/workflows/${encodeURIComponent(workflow.id)}/runs/${encodeURIComponent(runId)}`;
    return { status: 202, headers, data: { runId, statusUrl } };
  }
  const selected = selectionOf(from, body);
  expectPresent(signal);
  const leaving = abortsWith(signal);
  const { syncSeconds } = services.policy;
  const timeout = syncSeconds === undefined ? {} : { timeoutMs: syncSeconds * 1000 };
  const started = await startRun(services, from, body, { runId, ...timeout, signal: leaving.signal });
  const streamed = { run: started, selected, abandon: leaving.abort, headers };
  if (body.stream) return { raw: serverSentEvents(services, streamed) };
  if (call.wantsLines) return { raw: ndjson(services, streamed) };
  try {
    const result = await finalResult(services, streamed);
    if (!signal.aborted || result.status !== 'cancelled') return { headers, data: result };
  } catch (error) {
    throw new Started(error);
  } finally {
    leaving.forget();
  }
  throw new Started(new ApiError(499, 'Client cancelled request', { details: { runId } }));
}

/** The version that is live, or the draft. Throws 403 for a workflow that is not deployed. */
async function originOf(services: Services, workflow: WorkflowRow, body: ExecuteBody): Promise<Origin> {
  if (isManual(body)) return { workflow, version: undefined };
  const version = await activeVersion(services, workflow);
  if (!version) throw forbidden('WORKFLOW_NOT_DEPLOYED', 'Workflow is not deployed');
  return { workflow, version };
}

/** Records what the run is started with, before anything of it is promised. */
async function accept(services: Services, from: Origin, body: ExecuteBody, runId: string): Promise<void> {
  const seconds = [services.policy.asyncSeconds, body.executionTimeoutSeconds].filter(
    (each) => each !== undefined,
  );
  const waiting = {
    input: (body.input ?? {}) as never,
    version: from.version?.engine_version ?? 0,
    ...(seconds.length > 0 && { timeoutMs: Math.min(...seconds) * 1000 }),
  };
  try {
    await services.store.claims.enqueue(runId, waiting);
  } catch (error) {
    services.report(error);
    throw new Started(
      new ApiError(503, 'The run may or may not have been accepted', {
        details: { code: 'ASYNC_ENQUEUE_AMBIGUOUS', runId },
        headers: { 'X-Run-Id': runId },
      }),
    );
  }
  services.queue.submit({ runId, workflowId: from.workflow.id, waiting });
}

function selectionOf(
  { workflow, version }: Origin,
  { selectedOutputs }: ExecuteBody,
): Selected[] | undefined {
  if (selectedOutputs === undefined) return undefined;
  return resolveSelectors(selectedOutputs, blocksOf(readGraph(version?.state ?? workflow.state)));
}

/** The id of the run to be, which is from now on used. Throws 400, 409, 503. */
async function claim(
  services: Services,
  workflow: WorkflowRow,
  { headers, body }: ExecuteCall,
): Promise<string> {
  const given = headers.get('x-run-id');
  if (given !== null && !schemas.RUN_ID.test(given)) {
    throw badRequest('X-Run-Id has 1 to 128 characters out of letters, digits and . _ : -');
  }
  const row: Omit<ClaimRow, 'run_id' | 'waiting' | 'failure'> = {
    workflow_id: workflow.id,
    workspace_id: workflow.workspace_id,
    trigger: isManual(body) ? 'manual' : 'api',
    mode: body.async ? 'async' : body.stream ? 'stream' : 'sync',
    created_at: new Date(services.now()).toISOString(),
  };
  for (let tries = 1; tries <= MOST_CLAIMS; tries += 1) {
    const runId = given ?? randomUUID();
    if (await claimed(services, { ...row, run_id: runId })) return runId;
    if (given !== null) throw taken(given);
  }
  throw unavailable();
}

async function claimed(
  { store, report }: Services,
  row: Omit<ClaimRow, 'waiting' | 'failure'>,
): Promise<boolean> {
  try {
    return await store.claims.claim(row);
  } catch (error) {
    report(error);
    throw unavailable();
  }
}

function taken(runId: string): ApiError {
  return new ApiError(409, 'Run ID has already been used', {
    details: { code: 'RUN_ID_CONFLICT', runId },
    headers: { 'X-Run-Id': runId },
  });
}

function wantsLines(headers: Headers, body: ExecuteBody): boolean {
  return !body.async && !body.stream && (headers.get('accept') ?? '').includes('application/x-ndjson');
}

/** A signal of the run's own: a connection that closes long after its answer must not end a run that is paused. */
function abortsWith(signal: AbortSignal): { signal: AbortSignal; abort: () => void; forget: () => void } {
  const own = new AbortController();
  const abort = (): void => own.abort();
  signal.addEventListener('abort', abort, { once: true });
  return { signal: own.signal, abort, forget: () => signal.removeEventListener('abort', abort) };
}
