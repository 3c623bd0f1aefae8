import type { Json } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Engine, RunDetail, LogDetail } from '@heddle/engine';
import type { AreaContext } from '../../context.ts';
import { AUTHENTICATED_PRINCIPALS } from '../../auth/principal.ts';
import { notFound } from '../../errors.ts';
import { operationFactory } from '../../operation.ts';
import type { Definition } from '../../ports.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { noQuery, workflowPath } from '../common-schemas.ts';
import { findRun } from '../runs/find.ts';
import { pauseLinks } from '../runs/pause-point-ref.ts';
import * as schemas from './schemas.ts';

/** `hasResumePage`: the host serves the page on which pauses are answered. */
interface PageOption {
  hasResumePage: boolean;
}

// `PageOption` is not used here: the exported type of an area (a module of API operations) must not refer to a type of this file.
const defineOperation = operationFactory<AreaContext & { hasResumePage: boolean }>();

/** Reading needs the right to resume: the responses contain the resume tokens. */
const COMMON_FIELDS = {
  method: 'GET',
  tag: 'Legacy API',
  legacy: true,
  principals: AUTHENTICATED_PRINCIPALS,
  resource: workflowResource,
  scope: 'api:write',
  role: 'write',
  query: noQuery,
  errors: [400, 401, 403, 404, 429],
} as const;

/** Maximum number of runs in the list, which is not paginated. */
const MAX_LISTED_RUNS = 1000;
const PAGE_SIZE = 100;

export const listPausedExecutions = defineOperation({
  ...COMMON_FIELDS,
  id: 'listPausedExecutions',
  path: '/api/workflows/{workflowId}/paused',
  summary: 'List the paused executions, newest first',
  params: workflowPath,
  query: schemas.pausedQuery,
  success: [{ status: 200, schema: schemas.pausedList, description: 'The paused executions' }],
  async handle(services, { query, origin }, workflow) {
    const { engine, reservations: reservationStore } = services;
    const runs = await listPausedRuns(engine, workflow.id);
    const reservations = await reservationStore.findByEngineRunIds(runs.map(({ runId }) => runId));
    const executions = await Promise.all(
      runs.map((run) => {
        const runId = reservations.get(run.runId)?.runId ?? run.runId;
        return pausedExecutionOf(services, { run, runId }, origin);
      }),
    );
    const { status } = query;
    const pausedExecutions = executions.filter(
      (execution) => status === undefined || execution.status === status,
    );
    return { raw: Response.json({ pausedExecutions }) };
  },
});

export const getPausedExecution = defineOperation({
  ...COMMON_FIELDS,
  id: 'getPausedExecution',
  path: '/api/workflows/{workflowId}/paused/{executionId}',
  summary: 'Get the pause points of an execution',
  params: schemas.executionPath,
  success: [
    { status: 200, schema: schemas.pausedExecution, description: 'The pause points of the execution' },
  ],
  async handle(services, { path, origin }, workflow) {
    const pausedRun = await requirePausedRun(services, workflow, path.executionId);
    return { raw: Response.json(await pausedExecutionOf(services, pausedRun, origin)) };
  },
});

export const getPausedExecutionByResumePath = defineOperation({
  ...getPausedExecution,
  id: 'getPausedExecutionByResumePath',
  path: '/api/resume/{workflowId}/{executionId}',
  summary: 'Get the pause points of an execution, under the path at which they are answered',
});

export const getPauseContext = defineOperation({
  ...COMMON_FIELDS,
  id: 'getPauseContext',
  path: '/api/resume/{workflowId}/{executionId}/{contextId}',
  summary: 'Get one pause point',
  params: schemas.contextPath,
  success: [{ status: 200, schema: schemas.pauseContext, description: 'The pause point and its execution' }],
  async handle(services, { path, origin }, workflow) {
    const pausedRun = await requirePausedRun(services, workflow, path.executionId);
    const { pausePoints, ...execution } = await pausedExecutionOf(services, pausedRun, origin);
    const pausePoint = pausePoints.find(({ contextId }) => contextId === path.contextId);
    if (!pausePoint) throw notFound('Pause point');
    return { raw: Response.json({ execution, pausePoint, queue: [], activeResumeEntry: null }) };
  },
});

/** A paused run, and its id in the workspace. */
interface PausedRun {
  run: RunDetail;
  runId: string;
}

/** Returns the paused run. Throws 404. */
async function requirePausedRun(services: AreaContext, workflow: Definition, id: string): Promise<PausedRun> {
  const { run, runId } = await findRun(services, workflow, id);
  if (run?.status !== 'paused') throw notFound('Paused execution');
  return { run, runId };
}

async function listPausedRuns(engine: Engine, workflowId: string): Promise<RunDetail[]> {
  const runs: RunDetail[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null && runs.length < MAX_LISTED_RUNS) {
    const cursorOption = cursor === undefined ? {} : { cursor };
    const page = await engine.listRuns({ workflowId, status: ['paused'], limit: PAGE_SIZE, ...cursorOption });
    runs.push(...page.runs);
    cursor = page.nextCursor;
  }
  return runs;
}

async function pausedExecutionOf(
  { engine, hasResumePage }: AreaContext & PageOption,
  { run, runId }: PausedRun,
  origin: string,
) {
  const { workflowId, pauses, resumedCount } = run;
  const logs = await engine.getLogs(run.runId);
  const pauseTimes = pauses.map(({ pausedAt }) => pausedAt);
  return {
    ...{ id: runId, workflowId, executionId: runId },
    status: resumedCount > 0 ? 'partially_resumed' : 'paused',
    totalPauseCount: pauses.length + resumedCount,
    resumedCount,
    pausedAt: pauseTimes[0] ?? '',
    updatedAt: pauseTimes.at(-1) ?? '',
    ...{ expiresAt: null, metadata: {}, triggerIds: [] },
    pausePoints: pauses.map((pause) =>
      pausePointOf({ runId, workflowId }, pause, { logs, origin, hasResumePage }),
    ),
  };
}

function pausePointOf(
  { runId, workflowId }: { runId: string; workflowId: string },
  { token, blockId, output, pausedAt, scope }: RunDetail['pauses'][number],
  { logs, origin, hasResumePage }: { logs: LogDetail[]; origin: string; hasResumePage: boolean },
) {
  const { url, resumeEndpoint } = pauseLinks(origin, { workflowId, runId, token });
  const links = { apiUrl: resumeEndpoint, uiUrl: hasResumePage && !isAgentPause(output) ? url : null };
  return {
    ...{ contextId: token, blockId, response: output, registeredAt: pausedAt },
    ...{ resumeStatus: 'paused', snapshotReady: true },
    resumeLinks: { ...links, contextId: token, executionId: runId, workflowId },
    ...{ queuePosition: null, latestResumeEntry: null },
    ...scopesOf(logs, blockId, scope),
  };
}

/** Returns true for a pause in which an agent asks about tool calls. The page has no form for it. */
function isAgentPause(output: Json): boolean {
  return isJsonObject(output) && getOwn(output, 'calls') !== undefined;
}

/** Returns the innermost iteration and branch in which the block waits, each null if there is none. */
function scopesOf(logs: LogDetail[], blockId: string, scope: readonly number[]) {
  const containers = logs
    .filter((log) => log.blockId === blockId)
    .map(({ parents, container }) => (container ? [...parents, container] : []))
    .find((candidate) => candidate.map(({ index }) => index).join() === scope.join());
  const branch = containers?.findLast(({ kind }) => kind === 'parallel');
  const iteration = containers?.findLast(({ kind }) => kind === 'loop');
  return {
    parallelScope: branch ? { parallelId: branch.blockId, branchIndex: branch.index } : null,
    loopScope: iteration ? { loopId: iteration.blockId, iteration: iteration.index } : null,
  };
}
