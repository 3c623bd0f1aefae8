import type { Json } from '@heddle/core';
import type { ExecuteOptions, RunHandle, Trigger, WorkflowSource } from '@heddle/engine';
import { ApiError, badRequest, isApiError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { VersionRow, WorkflowRow } from '../../store/schema.ts';
import { exported, readGraph } from '../workflows/graph.ts';
import { findRun } from './find.ts';
import { withCallerId } from './ids.ts';
import type { RunIds } from './ids.ts';
import type { ExecuteBody } from './schemas.ts';

/** What a run starts from: a live version, or the draft when `version` is undefined. */
export interface RunOrigin {
  workflow: WorkflowRow;
  version: VersionRow | undefined;
  /** Id of the block at which the run begins; undefined for a run from a block. */
  start: string | undefined;
}

/** Types of triggers that an HTTP call fires. */
const API_TRIGGERS: ReadonlySet<string> = new Set([
  'start_trigger',
  'api_trigger',
  'input_trigger',
  'starter',
]);

/**
 * Returns the definition with the trigger at which the run begins. Throws 400 for an unknown trigger, and when several
 * are possible and the body names none.
 */
export async function originFrom(
  services: Services,
  origin: Omit<RunOrigin, 'start'>,
  { run }: ExecuteBody,
): Promise<RunOrigin> {
  if (run?.entry?.type === 'block') return { ...origin, start: undefined };
  const { workflow, version } = origin;
  const triggers = version
    ? await services.engine.triggers(workflow.id, { version: version.engine_version })
    : await services.engine.triggers(draftOf(workflow, services.compat));
  return { ...origin, start: chooseTrigger(triggers, run) };
}

function chooseTrigger(triggers: readonly Trigger[], run: ExecuteBody['run']): string {
  const names = triggers.map(({ blockId, name }) => `${blockId} (${name})`).join(', ');
  const named = run?.entry?.blockId;
  if (named !== undefined) {
    const found =
      triggers.find(({ blockId }) => blockId === named) ?? triggers.find(({ name }) => name === named);
    if (found) return found.blockId;
    throw badRequest(`"${named}" is no trigger that can start this workflow. There are ${names}`);
  }
  const forCalls = triggers.filter(({ type }) => API_TRIGGERS.has(type));
  // A manual run of a draft may begin at any trigger.
  const possible = run?.source === 'manual' || forCalls.length === 0 ? triggers : forCalls;
  const [only] = possible;
  if (only && possible.length === 1) return only.blockId;
  throw badRequest(
    `Several triggers can start this workflow: name one in run.entry.blockId. There are ${names}`,
  );
}

/** Starts the requested run. When it throws, no run exists. */
export async function startRun(
  services: Services,
  origin: RunOrigin,
  body: ExecuteBody,
  options: Pick<ExecuteOptions, 'runId' | 'callerId' | 'timeoutMs' | 'signal' | 'via'>,
): Promise<RunHandle> {
  const { workflow, version, start } = origin;
  const until = body.stopAfterBlockId;
  const shared: ExecuteOptions = { ...options, ...(until !== undefined && { until }) };
  const input = (body.input ?? {}) as Json;
  if (!version) return startDraft(services, origin, body, shared);
  return services.engine.start(workflow.id, input, {
    ...shared,
    version: version.engine_version,
    ...(start !== undefined && { start }),
  });
}

/** Returns the workflow and trigger that define the input; undefined for a run from a block, which has no input fields. */
export function sourceOf(
  { compat }: Services,
  { workflow, version, start }: RunOrigin,
): { workflow: WorkflowSource; version?: number; start: string } | undefined {
  if (start === undefined) return undefined;
  if (version) return { workflow: workflow.id, version: version.engine_version, start };
  return { workflow: draftOf(workflow, compat), start };
}

export function draftOf(workflow: WorkflowRow, compat: boolean): { workflow: Json; compat?: true } {
  return { workflow: exported(workflow, readGraph(workflow.state)), ...(compat && { compat }) };
}

async function startDraft(
  services: Services,
  { workflow, start }: RunOrigin,
  body: ExecuteBody,
  options: ExecuteOptions,
): Promise<RunHandle> {
  const { engine, compat } = services;
  const source = draftOf(workflow, compat);
  const entry = body.run?.source === 'manual' ? body.run.entry : undefined;
  const input = body.input as Json | undefined;
  if (entry?.type === 'block') {
    const from = await sourceRun(services, workflow, entry.sourceRunId);
    const given = { ...options, ...(input !== undefined && { input }), workflow: source };
    return withCallerId(from, () => engine.runFromBlock(from.engineId, entry.blockId, given));
  }
  // Without input, a run begins with the example values of its trigger, which are the defaults of its fields.
  return engine.start(source, input ?? {}, { ...options, ...(start !== undefined && { start }) });
}

/** Returns the run of this workflow from which a run of the draft continues. Throws 404. */
export async function sourceRun(services: Services, workflow: WorkflowRow, runId: string): Promise<RunIds> {
  try {
    const found = await findRun(services, workflow, runId);
    if (found.run) return found;
  } catch (error) {
    if (!isApiError(error) || error.status !== 404) throw error;
  }
  throw new ApiError(404, `No execution state found for source run "${runId}" in this workflow.`);
}
