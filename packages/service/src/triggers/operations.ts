import {
  badRequest,
  conflict,
  cursorCodec,
  emptyBody,
  AUTHENTICATED_PRINCIPALS,
  noQuery,
  notFound,
  operationFactory,
  areaResource,
  workspace,
} from '@heddle/api/areas';
import { isApiError } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import * as z from 'zod';
import { pageOf } from '../paging.ts';
import { requireUnlocked } from '../workflows/folders.ts';
import { dueColumnsAfter } from './activation.ts';
import { admitDueRun, claimDueTimes, queueDueRun } from './fire.ts';
import type { AdmittedRun, Db, FireServices, LiveTrigger } from './fire.ts';
import { withNumericTimes } from './rows.ts';
import * as schemas from './schemas.ts';
import type { TriggerRow } from './tables.ts';
import type { ScheduleType, TriggerType } from './types.ts';
import { toDeployedTrigger, selectDeployedTriggers, triggerView } from './views.ts';
import type { DeployedTrigger } from './views.ts';

/** Dependencies of the operations of triggers. */
export interface TriggerServices extends FireServices {
  types: ReadonlyMap<string, TriggerType>;
  /** Reports that a trigger has changed. */
  notifyChanged: () => void;
  /** Records which registrations at providers a workflow needs, in the transaction that changes its triggers. */
  recordDesiredRegistrations: (
    transaction: unknown,
    workflow: { workflowId: string; nowMs: number },
  ) => Promise<void>;
  /** Reports that an event waits for flow control. */
  notifyEventsWaiting: () => void;
}

const defineOperation = operationFactory<TriggerServices>();
const READ_FIELDS = {
  tag: 'Triggers',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const WRITE_FIELDS = {
  tag: 'Triggers',
  scope: 'api:write',
  role: 'write',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const READ_ERRORS = [400, 401, 403, 404, 429] as const;
const WRITE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 423, 429] as const;
const RUN_ERRORS = [...WRITE_ERRORS, 402, 503] as const;

/** Returns the audit declaration of an operation that records the action on a trigger. */
function auditAction(action: string) {
  return { audit: { resourceType: 'trigger', actions: [action] } } as const;
}

/** The trigger that `triggerId` in the path names, of a workflow that is deployed and not archived. */
export const triggerResource = areaResource<DeployedTrigger, TriggerServices>(
  'Trigger',
  async ({ path }, { db }) => {
    const { triggerId } = path as { triggerId: string };
    const [row] = await selectDeployedTriggers(db).where('triggers.id', '=', triggerId).execute();
    const value = row && toDeployedTrigger(row);
    return value && { value, workspaceIds: [value.workspace_id] };
  },
);

const ONE_TRIGGER_PROPERTIES = {
  resource: triggerResource,
  params: schemas.triggerPath,
  query: noQuery,
} as const;
const positionCodec = cursorCodec(schemas.triggerPosition);

export const listTriggers = defineOperation({
  ...READ_FIELDS,
  id: 'listTriggers',
  method: 'GET',
  path: '/api/v2/triggers',
  summary: 'List the triggers of deployed workflows',
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.triggerItem, isPage: true, description: 'A page of triggers' }],
  errors: READ_ERRORS,
  async handle({ db }, { query }) {
    const { workspaceId, workflowId, type, limit } = query;
    const filters = { workspaceId, workflowId, type };
    const [afterPosition] = positionCodec.decode(query.cursor, filters) ?? [];
    const fetchedRows = await selectDeployedTriggers(db)
      .where('triggers.workspace_id', '=', workspaceId)
      .$if(workflowId !== undefined, (builder) =>
        builder.where('triggers.workflow_id', '=', workflowId ?? ''),
      )
      .$if(type !== undefined, (builder) => builder.where('triggers.type', '=', type ?? ''))
      .$if(afterPosition !== undefined, (builder) => builder.where('triggers.id', '>', afterPosition ?? ''))
      .orderBy('triggers.id')
      .limit(limit + 1)
      .execute();
    const { rows, next } = pageOf(fetchedRows, limit, ({ id }): [string] => [id]);
    const page = rows.flatMap((row) => toDeployedTrigger(row) ?? []).map(triggerView);
    return { page, nextCursor: next ? positionCodec.encode(next, filters) : null };
  },
});

export const getTrigger = defineOperation({
  ...READ_FIELDS,
  ...ONE_TRIGGER_PROPERTIES,
  id: 'getTrigger',
  method: 'GET',
  path: '/api/v2/triggers/{triggerId}',
  summary: 'Get a trigger with its health',
  success: [{ status: 200, schema: schemas.triggerItem, description: 'The trigger' }],
  errors: READ_ERRORS,
  handle: (_services, _call, row) => Promise.resolve({ data: triggerView(row) }),
});

export const pauseTrigger = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_TRIGGER_PROPERTIES,
  ...auditAction('TRIGGER_PAUSED'),
  id: 'pauseTrigger',
  method: 'POST',
  path: '/api/v2/triggers/{triggerId}/pause',
  summary: 'Pause a trigger',
  body: emptyBody,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.triggerItem, description: 'The paused trigger' }],
  errors: WRITE_ERRORS,
  async handle(services, { recordAudit }, row) {
    const change = { state: 'paused', due_ms: null, fire_ms: null, held: null, attempts: 0 } as const;
    return { data: await updateTrigger(services, { row, change }, recordAudit) };
  },
});

export const resumeTrigger = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_TRIGGER_PROPERTIES,
  ...auditAction('TRIGGER_RESUMED'),
  id: 'resumeTrigger',
  method: 'POST',
  path: '/api/v2/triggers/{triggerId}/resume',
  summary: 'Resume a paused or suspended trigger',
  body: emptyBody,
  bodyOptional: true,
  success: [
    {
      status: 200,
      schema: schemas.triggerItem,
      description: 'The trigger. Runs that were due meanwhile are not started',
    },
  ],
  errors: WRITE_ERRORS,
  async handle(services, { recordAudit }, row) {
    if (row.state === 'active') throw conflict('The trigger is active');
    const dueColumns = dueColumnsAfter(services.types, row, services.now());
    const change = { state: 'active', failures: 0, failing_since_ms: null, ...dueColumns } as const;
    return { data: await updateTrigger(services, { row, change }, recordAudit) };
  },
});

export const runTrigger = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_TRIGGER_PROPERTIES,
  ...auditAction('TRIGGER_RUN'),
  id: 'runTrigger',
  method: 'POST',
  path: '/api/v2/triggers/{triggerId}/run',
  summary: 'Start a run of a trigger now',
  body: emptyBody,
  bodyOptional: true,
  success: [{ status: 202, schema: schemas.startedRun, description: 'The run was accepted' }],
  errors: RUN_ERRORS,
  async handle(services, { recordAudit }, row) {
    const nowMs = services.now();
    const type = scheduleTypeOf(services, row);
    const admittedRun = await admitDueRun(services, { trigger: row, type, dueMs: nowMs });
    const { runId = '' } = await writeAndSubmit(services, admittedRun, async (tx) => {
      await requireUnlocked(tx, row);
      const acceptedRun = await queueRun(tx, admittedRun, nowMs);
      await recordAudit({ resourceId: row.id, details: { runId: acceptedRun.runId } }, tx);
      return acceptedRun;
    });
    return { status: 202, data: { runId, workflowId: row.workflow_id } };
  },
});

export const backfillTrigger = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_TRIGGER_PROPERTIES,
  ...auditAction('TRIGGER_BACKFILLED'),
  id: 'backfillTrigger',
  method: 'POST',
  path: '/api/v2/triggers/{triggerId}/backfill',
  summary: 'Start the runs that were due in a period but were not started',
  body: schemas.backfillBody,
  success: [{ status: 202, schema: schemas.backfillResult, description: 'The runs that were accepted' }],
  errors: RUN_ERRORS,
  async handle(services, { body, recordAudit }, row) {
    await requireUnlocked(services.db, row);
    const dueTimes = dueTimesOf(services, row, body);
    const type = scheduleTypeOf(services, row);
    const started: { dueAt: string; runId: string }[] = [];
    let refused: string | null = null;
    let alreadyStarted = 0;
    for (const dueMs of dueTimes) {
      if (await isClaimed(services.db, row, dueMs)) {
        alreadyStarted += 1;
        continue;
      }
      try {
        const admittedRun = await admitDueRun(services, { trigger: row, type, dueMs });
        const { runId } = await writeAndSubmit(services, admittedRun, async (tx) => {
          await requireUnlocked(tx, row);
          const claimedRuns = await claimDueTimes(tx, [admittedRun], services.now());
          if (claimedRuns.length === 0) return undefined;
          const acceptedRun = await queueRun(tx, admittedRun, services.now());
          await recordAudit({ resourceId: row.id, details: { dueMs, runId: acceptedRun.runId } }, tx);
          return acceptedRun;
        });
        if (runId !== undefined) started.push({ dueAt: new Date(dueMs).toISOString(), runId });
        else alreadyStarted += 1;
      } catch (error) {
        // Some runs have been started, so the response lists them.
        if (!isApiError(error) || started.length === 0) throw error;
        refused = error.message;
        break;
      }
    }
    return { status: 202, data: { started, alreadyStarted, refused } };
  },
});

/**
 * Returns the due times of a period. Throws 400 if it ends in the future or has more due times than the limit.
 */
function dueTimesOf(
  services: TriggerServices,
  row: LiveTrigger,
  { from, to, limit }: z.output<typeof schemas.backfillBody>,
): number[] {
  const type = scheduleTypeOf(services, row);
  const config = JSON.parse(row.config) as JsonObject;
  const untilMs = Date.parse(to);
  if (untilMs > services.now()) throw badRequest('"to" is in the future');
  const dueTimes: number[] = [];
  for (let afterMs = Date.parse(from) - 1; ;) {
    const dueMs = type.nextDueTime(config, afterMs);
    if (dueMs === undefined || dueMs > untilMs) return dueTimes;
    if (dueTimes.length === limit)
      throw badRequest(`More than ${limit} runs were due: shorten the period, or raise "limit"`);
    dueTimes.push(dueMs);
    afterMs = dueMs;
  }
}

async function isClaimed(db: Db, row: LiveTrigger, dueMs: number): Promise<boolean> {
  const fireRow = await db
    .selectFrom('trigger_fires')
    .select('run_id')
    .where('workflow_id', '=', row.workflow_id)
    .where('block_id', '=', row.block_id)
    .where('due_ms', '=', dueMs)
    .executeTakeFirst();
  return fireRow !== undefined;
}

/** A run that was queued, or waits for flow control. */
interface AcceptedRun {
  runId: string;
  isWaiting: boolean;
}

/** Queues the run in the transaction. Throws 409 if flow control drops it. */
async function queueRun(tx: Db, admittedRun: AdmittedRun, nowMs: number): Promise<AcceptedRun> {
  const decision = await queueDueRun(tx, admittedRun, nowMs);
  if (decision?.state === 'dropped')
    throw conflict(`The flow control of the trigger drops the run (${decision.reason})`);
  return { runId: decision?.runId ?? admittedRun.run.runId, isWaiting: decision !== undefined };
}

/**
 * Executes `write` in a transaction, starts the run that `write` has queued, and returns the id of the run. Without a
 * queued run, releases the admission and returns no id.
 */
async function writeAndSubmit(
  { db, queue, notifyEventsWaiting }: TriggerServices,
  { run, release }: AdmittedRun,
  write: (tx: Db) => Promise<AcceptedRun | undefined>,
): Promise<{ runId?: string }> {
  let acceptedRun: AcceptedRun | undefined;
  try {
    acceptedRun = await db.transaction().execute(write);
  } finally {
    if (!acceptedRun) release?.();
  }
  if (!acceptedRun) return {};
  if (acceptedRun.isWaiting) notifyEventsWaiting();
  else queue.submit({ ...run, release });
  return { runId: acceptedRun.runId };
}

/** Changes the trigger and returns it. Throws 404 if its version is no longer live, 423 if its folder is locked. */
async function updateTrigger(
  services: TriggerServices,
  { row, change }: { row: DeployedTrigger; change: Partial<TriggerRow> },
  recordAudit: (event: { resourceId: string }, transaction: unknown) => Promise<void>,
): Promise<z.output<typeof schemas.triggerItem>> {
  const updatedRow = await services.db.transaction().execute(async (tx) => {
    await requireUnlocked(tx, row);
    const changedRow = await tx
      .updateTable('triggers')
      .set(change)
      .where('id', '=', row.id)
      .where('version', '=', row.version)
      .returningAll()
      .executeTakeFirst();
    // The workflow was undeployed, or another version has become live.
    if (!changedRow) throw notFound('Trigger');
    await services.recordDesiredRegistrations(tx, { workflowId: row.workflow_id, nowMs: services.now() });
    await recordAudit({ resourceId: row.id }, tx);
    return changedRow;
  });
  services.notifyChanged();
  return triggerView({ ...row, ...withNumericTimes(updatedRow) } as DeployedTrigger);
}

/** Returns the type of a schedule. Throws 409 for other triggers, and for a type that this process does not support. */
function scheduleTypeOf({ types }: TriggerServices, { type }: TriggerRow): ScheduleType {
  const triggerType = types.get(type);
  if (triggerType?.kind === 'schedule') return triggerType;
  if (triggerType?.kind === 'webhook')
    throw conflict('Only schedules can be started: replay a delivery of the webhook instead');
  if (triggerType) throw conflict('Only schedules can be started through the API');
  throw conflict(`This server does not fire triggers of the type "${type}"`);
}
