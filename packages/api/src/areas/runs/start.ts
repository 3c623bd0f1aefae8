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

/** What a run is started from: the live version, or the draft where there is none given. */
export interface RunOrigin {
  workflow: WorkflowRow;
  version: VersionRow | undefined;
  /** Id of the block at which the run begins; undefined for a run from a block. */
  start: string | undefined;
}

/** Types of triggers that a call over HTTP sets off. */
const API_ENTRIES: ReadonlySet<string> = new Set([
  'start_trigger',
  'api_trigger',
  'input_trigger',
  'starter',
]);

/**
 * Returns what a run begins with: the live version, or the draft without one, and the trigger. Throws 400 for a trigger
 * that does not exist, and where several are possible and the body names none.
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
  return { ...origin, start: entryAmong(triggers, run) };
}

function entryAmong(triggers: readonly Trigger[], run: ExecuteBody['run']): string {
  const names = triggers.map(({ blockId, name }) => `${blockId} (${name})`).join(', ');
  const named = run?.entry?.blockId;
  if (named !== undefined) {
    const found =
      triggers.find(({ blockId }) => blockId === named) ?? triggers.find(({ name }) => name === named);
    if (found) return found.blockId;
    throw badRequest(`"${named}" is no trigger that can start this workflow. There are ${names}`);
  }
  const forCalls = triggers.filter(({ type }) => API_ENTRIES.has(type));
  // A draft is run by hand: each of its triggers is meant as much as the others.
  const possible = run?.source === 'manual' || forCalls.length === 0 ? triggers : forCalls;
  const [only] = possible;
  if (only && possible.length === 1) return only.blockId;
  throw badRequest(
    `Several triggers can start this workflow: name one in run.entry.blockId. There are ${names}`,
  );
}

/** Starts the run that the body asks for. Throws what keeps it from being started; then there is none. */
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

/** What the input of a run is read by, and where it begins; undefined for a run from a block, which reads none. */
export function sourceOf(
  { compat }: Services,
  { workflow, version, start }: RunOrigin,
): { workflow: WorkflowSource; version?: number; start: string } | undefined {
  if (start === undefined) return undefined;
  if (version) return { workflow: workflow.id, version: version.engine_version, start };
  return { workflow: draftOf(workflow, compat), start };
}

function draftOf(workflow: WorkflowRow, compat: boolean): { workflow: Json; compat?: true } {
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
  // The example values of a trigger are the defaults of its fields, which a run without input begins with.
  return engine.start(source, input ?? {}, { ...options, ...(start !== undefined && { start }) });
}

/** The run of this workflow that a draft goes on from. Throws 404. */
async function sourceRun(services: Services, workflow: WorkflowRow, runId: string): Promise<RunIds> {
  try {
    const found = await findRun(services, workflow, runId);
    if (found.run) return found;
  } catch (error) {
    if (!isApiError(error) || error.status !== 404) throw error;
  }
  throw new ApiError(404, `No execution state found for source run "${runId}" in this workflow.`);
}
