import { compile, parseWorkflow, startCandidates } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { ExecuteOptions, RunHandle, WorkflowSource } from '@heddle/engine';
import { isRunNotFound } from '../../engine-errors.ts';
import { ApiError, badRequest } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { VersionRow, WorkflowRow } from '../../store/schema.ts';
import { exported, readGraph } from '../workflows/graph.ts';
import type { ExecuteBody } from './schemas.ts';

/** What a run is started from: the live version, or the draft where there is none given. */
export interface Origin {
  workflow: WorkflowRow;
  version: VersionRow | undefined;
}

/** Starts the run that the body asks for. Throws what keeps it from being started; then there is none. */
export async function startRun(
  services: Services,
  origin: Origin,
  body: ExecuteBody,
  options: Pick<ExecuteOptions, 'runId' | 'timeoutMs' | 'signal'>,
): Promise<RunHandle> {
  const { workflow, version } = origin;
  const until = body.stopAfterBlockId;
  const shared: ExecuteOptions = { ...options, ...(until !== undefined && { until }) };
  const input = (body.input ?? {}) as Json;
  if (!version) return startDraft(services, workflow, body, shared);
  const start = body.run?.source === 'deployment' ? body.run.entry?.blockId : undefined;
  return services.engine.start(workflow.id, input, {
    ...shared,
    version: version.engine_version,
    ...(start !== undefined && { start }),
  });
}

/** What the input of a run is read by, and where it begins; undefined for a run from a block, which reads none. */
export function sourceOf(
  { compat }: Services,
  { workflow, version }: Origin,
  { run }: ExecuteBody,
): { workflow: WorkflowSource; version?: number; start?: string } | undefined {
  if (run?.entry?.type === 'block') return undefined;
  const start = run?.entry?.blockId;
  const entry = start === undefined ? {} : { start };
  if (version) return { workflow: workflow.id, version: version.engine_version, ...entry };
  return { workflow: draftOf(workflow, compat), ...entry };
}

function draftOf(workflow: WorkflowRow, compat: boolean): { workflow: Json; compat?: true } {
  return { workflow: exported(workflow, readGraph(workflow.state)), ...(compat && { compat }) };
}

async function startDraft(
  services: Services,
  workflow: WorkflowRow,
  body: ExecuteBody,
  options: ExecuteOptions,
): Promise<RunHandle> {
  const { engine, compat } = services;
  const source = draftOf(workflow, compat);
  const entry = body.run?.source === 'manual' ? body.run.entry : undefined;
  const input = body.input as Json | undefined;
  if (entry?.type === 'block') {
    await expectSource(services, workflow, entry.sourceRunId);
    const given = input === undefined ? {} : { input };
    return engine.runFromBlock(entry.sourceRunId, entry.blockId, { ...options, ...given, workflow: source });
  }
  const start = entry?.blockId;
  if (start === undefined) expectOneTrigger(source.workflow);
  // The example values of a trigger are the defaults of its fields, which a run without input begins with.
  return engine.start(source, input ?? {}, { ...options, ...(start !== undefined && { start }) });
}

/** Throws 404 unless the run is one of this workflow. */
async function expectSource({ engine }: Services, workflow: WorkflowRow, runId: string): Promise<void> {
  try {
    if ((await engine.getRun(runId)).workflowId === workflow.id) return;
  } catch (error) {
    if (!isRunNotFound(error)) throw error;
  }
  throw new ApiError(404, `No execution state found for source run "${runId}" in this workflow.`);
}

/** Throws 400 when a draft has several triggers and none was chosen. */
function expectOneTrigger(workflow: Json): void {
  const parsed = parseWorkflow(workflow);
  const compiled = parsed.workflow && compile(parsed.workflow);
  // What is wrong with the draft is told by the engine, all at once.
  if (!compiled?.ok) return;
  const { plan } = compiled;
  const candidates = startCandidates(plan);
  if (candidates.length < 2) return;
  const names = candidates.map((id) => `${id} (${plan.blocks[id]?.name ?? id})`).join(', ');
  throw badRequest(
    `Several triggers can start this workflow: name one in run.entry.blockId. There are ${names}`,
  );
}
