import { isJsonObject } from '@heddle/core/blocks';
import type { AreaContext } from '../../context.ts';
import { AUTHENTICATED_PRINCIPALS } from '../../auth/principal.ts';
import { validate } from '../../http/parse.ts';
import { operationFactory } from '../../operation.ts';
import type { Reply } from '../../operation.ts';
import { areaResource, workflow as workflowResource } from '../../resource.ts';
import { emptyBody, noQuery, workflowPath } from '../common-schemas.ts';
import { executeWorkflow } from '../runs/execute.ts';
import { findReservation } from '../runs/find.ts';
import { cancelRun, getWorkflowRun } from '../runs/operations.ts';
import { resumeRun } from '../runs/resume.ts';
import { requireValidCombination, requireValidRunId } from '../runs/rules.ts';
import { cancelResult, executeBody } from '../runs/schemas.ts';
import type { ExecuteBody, RunResult } from '../runs/schemas.ts';
import { executionBody, executionResponse } from './response.ts';
import * as schemas from './schemas.ts';

const defineOperation = operationFactory<AreaContext>();
const COMMON_FIELDS = {
  tag: 'Legacy API',
  principals: AUTHENTICATED_PRINCIPALS,
  resource: workflowResource,
  legacy: true,
  query: noQuery,
} as const;
const READ_FIELDS = { ...COMMON_FIELDS, scope: 'api:read', role: 'read' } as const;
const WRITE_FIELDS = { ...COMMON_FIELDS, scope: 'api:write', role: 'write' } as const;
const EXECUTE_ERRORS = [400, 401, 402, 403, 404, 409, 413, 415, 429, 503] as const;

/** Returns the data of a reply of the v2 API. Throws a TypeError for a reply without data. */
function dataOf<Data>(reply: Reply): Data {
  if (!('data' in reply)) throw new TypeError('The reply has no data.');
  return reply.data as Data;
}

export const executeLegacy = defineOperation({
  ...WRITE_FIELDS,
  id: 'executeWorkflow',
  method: 'POST',
  path: '/api/workflows/{workflowId}/execute',
  summary: 'Execute a workflow; a Response block sets status and headers',
  role: 'read',
  params: workflowPath,
  body: schemas.anyBody,
  bodyOptional: true,
  success: [
    { status: 200, schema: schemas.executionResult, description: 'The result of the run' },
    {
      status: 202,
      schema: schemas.acceptedJob,
      description: 'With X-Execution-Mode: async: the run was accepted',
    },
  ],
  streams: [
    {
      type: 'text/event-stream',
      description: 'With X-Stream-Response: true, or `stream` in the body: chunks, then `final` or `error`',
    },
  ],
  workflowResponses: 'The status, headers and data of a Response block of the workflow',
  errors: EXECUTE_ERRORS,
  executesWorkflow: true,
  check({ headers, body, principal }) {
    requireValidRunId(headers);
    requireValidCombination(toExecuteBody(body, modesOf(headers)), headers, principal);
  },
  async handle(services, call, workflow) {
    const modes = modesOf(call.headers);
    const { isAsync } = modes;
    const body = toExecuteBody(call.body, modes);
    const headers = new Headers(call.headers);
    // Only the v2 API supports NDJSON.
    headers.delete('accept');
    const reply = await executeWorkflow.handle(services, { ...call, headers, body }, workflow);
    if ('raw' in reply) return reply;
    if (!isAsync) {
      const result = dataOf<RunResult>(reply);
      const response = await executionResponse(services.engine, result, async () => {
        const [reservation] = await services.reservations.findByRunId(result.runId, [workflow.workspaceId]);
        return reservation?.engineRunId ?? result.runId;
      });
      response.headers.set('X-Execution-Id', result.runId);
      return { raw: response };
    }
    const { runId } = dataOf<{ runId: string }>(reply);
    const statusUrl = `${call.origin}/api/jobs/${encodeURIComponent(runId)}`;
    const message = 'Workflow execution queued';
    const acceptedJob = { success: true, async: true, jobId: runId, executionId: runId, message, statusUrl };
    return { raw: Response.json(acceptedJob, { status: 202 }) };
  },
});

/** Returns the modes that the headers request. */
function modesOf(headers: Headers): { isAsync: boolean; isStream: boolean } {
  const isAsync = headers.get('x-execution-mode')?.toLowerCase() === 'async';
  return { isAsync, isStream: headers.get('x-stream-response')?.toLowerCase() === 'true' };
}

/** Returns the body in the format of the v2 API. */
function toExecuteBody(
  body: { [key: string]: unknown },
  { isAsync, isStream }: { isAsync: boolean; isStream: boolean },
): ExecuteBody {
  const { stream, selectedOutputs, input, ...inlineInput } = body;
  const runInput = isJsonObject(input)
    ? { ...inlineInput, ...input }
    : { ...inlineInput, ...(input !== undefined && { input }) };
  const options = {
    ...((isStream || stream === true) && { stream: true }),
    ...(selectedOutputs !== undefined && { selectedOutputs }),
  };
  return validate(executeBody, { input: runInput, async: isAsync, ...options }, 'Invalid request body');
}

export const getExecution = defineOperation({
  ...READ_FIELDS,
  id: 'getExecution',
  method: 'GET',
  path: '/api/workflows/{workflowId}/executions/{executionId}',
  summary: 'Get the status of an execution',
  params: schemas.executionPath,
  success: [{ status: 200, schema: schemas.execution, description: 'The execution' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, call, workflow) {
    const path = { workflowId: call.path.workflowId, runId: call.path.executionId };
    const query = { includeOutput: true };
    const reply = await getWorkflowRun.handle(services, { ...call, path, query }, workflow);
    const run = dataOf<RunResult & { trigger: string }>(reply);
    const {
      runId,
      workflowId,
      status,
      trigger,
      startedAt,
      endedAt,
      durationMs,
      error,
      output,
      blockOutputs,
    } = run;
    const level = status === 'failed' ? 'error' : 'info';
    const runFields = { executionId: runId, workflowId, status, level, trigger, startedAt, endedAt };
    const resultFields = { finalOutput: output, blockOutputs, error: error?.message ?? null, cost: null };
    return { raw: Response.json({ ...runFields, totalDurationMs: durationMs, ...resultFields }) };
  },
});

export const cancelExecution = defineOperation({
  ...WRITE_FIELDS,
  id: 'cancelExecution',
  method: 'POST',
  path: '/api/workflows/{workflowId}/executions/{executionId}/cancel',
  summary: 'Cancel an execution',
  audit: cancelRun.audit,
  params: schemas.executionPath,
  body: emptyBody,
  bodyOptional: true,
  success: [{ status: 200, schema: cancelResult, description: 'The result of the cancellation' }],
  errors: [400, 401, 403, 404, 409, 413, 415, 429],
  async handle(services, call, workflow) {
    const path = { workflowId: call.path.workflowId, runId: call.path.executionId };
    const reply = await cancelRun.handle(services, { ...call, path, body: undefined }, workflow);
    return { raw: Response.json(dataOf(reply)) };
  },
});

export const resumeExecution = defineOperation({
  ...WRITE_FIELDS,
  id: 'resumeExecution',
  method: 'POST',
  path: '/api/resume/{workflowId}/{executionId}/{contextId}',
  summary: 'Resume a paused execution; the body is the input',
  audit: resumeRun.audit,
  params: schemas.contextPath,
  body: schemas.anyBody,
  bodyOptional: true,
  success: [
    {
      status: 200,
      schema: schemas.executionResult,
      description: 'The result of the run when it ends or pauses again',
    },
    { status: 202, schema: schemas.acceptedJob, description: 'The answer was accepted' },
  ],
  errors: EXECUTE_ERRORS,
  async handle(services, call, workflow) {
    const { workflowId, executionId, contextId } = call.path;
    const input = call.body['input'] ?? call.body;
    const request = { path: { workflowId, runId: executionId }, body: { contextId, input } };
    const reply = await resumeRun.handle(services, { ...call, ...request }, workflow);
    const status = 'status' in reply ? reply.status : 200;
    if (status !== 202) return { raw: Response.json(executionBody(dataOf<RunResult>(reply))) };
    const { runId } = dataOf<{ runId: string }>(reply);
    const statusUrl = `${call.origin}/api/jobs/${encodeURIComponent(runId)}`;
    const jobFields = { jobId: runId, executionId: runId, statusUrl };
    return {
      raw: Response.json({ success: true, async: true, message: 'Resume queued', ...jobFields }, { status }),
    };
  },
});

/** Maps statuses of runs to statuses of jobs, where they differ. */
const JOB_STATUSES: { [status: string]: string } = { running: 'processing', paused: 'processing' };

export const getJob = defineOperation({
  ...READ_FIELDS,
  id: 'getJob',
  method: 'GET',
  path: '/api/jobs/{jobId}',
  summary: 'Get the status of an accepted execution',
  resource: areaResource('Job', async ({ principal, path }, services: AreaContext) => {
    const { jobId } = path as { jobId: string };
    const reservation = await findReservation(services, principal, jobId);
    const workflow = reservation && (await services.definitions.find(reservation.workflowId));
    return workflow && { value: workflow, workspaceIds: [workflow.workspaceId] };
  }),
  params: schemas.jobPath,
  success: [{ status: 200, schema: schemas.job, description: 'The job' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, call, workflow) {
    const { jobId } = call.path;
    const path = { workflowId: workflow.id, runId: jobId };
    const reply = await getWorkflowRun.handle(
      services,
      { ...call, path, query: { includeOutput: true } },
      workflow,
    );
    const { status, startedAt, endedAt, output, error } = dataOf<RunResult>(reply);
    const metadata = { startedAt, completedAt: endedAt };
    const job = { taskId: jobId, status: JOB_STATUSES[status] ?? status, metadata, output };
    return { raw: Response.json({ success: true, ...job, error: error?.message ?? null }) };
  },
});
