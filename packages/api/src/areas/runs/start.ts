import type { Json } from '@heddle/core';
import type { ExecuteOptions, RunHandle, WorkflowBlock, WorkflowSource } from '@heddle/engine';
import type { AreaContext } from '../../context.ts';
import { ApiError, badRequest, isApiError, notFound } from '../../errors.ts';
import type { Definition } from '../../ports.ts';
import { findRun } from './find.ts';
import { withCallerRunId } from './ids.ts';
import type { RunIds } from './ids.ts';
import type { ExecuteBody } from './schemas.ts';

/** The definition from which a run starts: a live version, or the draft. */
export interface RunOrigin {
  workflow: Definition;
  versionOrDraft: { version: number } | Draft;
  /** Id of the block at which the run begins; undefined for a run from a block. */
  start: string | undefined;
}

/** A draft, as an argument of the engine. */
export interface Draft {
  workflow: Json;
  compat?: true;
}

/** A page of a workflow, on which people start runs without a credential. */
export type PageTrigger = 'chat' | 'form';

/** Trigger types that an HTTP call fires. */
const API_TRIGGERS: ReadonlySet<string> = new Set([
  'start_trigger',
  'api_trigger',
  'input_trigger',
  'starter',
]);

/** Trigger types that a chat message fires. */
const CHAT_TRIGGERS: ReadonlySet<string> = new Set(['start_trigger', 'chat_trigger', 'starter']);

/**
 * Returns the run origin with the trigger at which the run begins. Throws 400 for a workflow without a trigger, for an
 * unknown trigger, and when several triggers are possible and the body names none of them.
 */
export async function resolveStart(
  services: AreaContext,
  runOrigin: Omit<RunOrigin, 'start'>,
  { run, page }: Pick<ExecuteBody, 'run'> & { page?: PageTrigger | undefined },
): Promise<RunOrigin> {
  if (run?.entry?.type === 'block') return { ...runOrigin, start: undefined };
  const triggers = await services.engine.triggers(...sourceOf(runOrigin));
  return {
    ...runOrigin,
    start: chooseTrigger(triggers, run, page === 'chat' ? CHAT_TRIGGERS : API_TRIGGERS),
  };
}

function chooseTrigger(
  triggers: readonly WorkflowBlock[],
  run: ExecuteBody['run'],
  triggerTypes: ReadonlySet<string>,
): string {
  if (triggers.length === 0) throw badRequest('This workflow has no trigger that can start it');
  const names = triggers.map(({ blockId, name }) => `${blockId} (${name})`).join(', ');
  const entryBlock = run?.entry?.blockId;
  if (entryBlock !== undefined) {
    const namedTrigger =
      triggers.find(({ blockId }) => blockId === entryBlock) ??
      triggers.find(({ name }) => name === entryBlock);
    if (namedTrigger) return namedTrigger.blockId;
    throw badRequest(
      `"${entryBlock}" is not a trigger that can start this workflow. Available triggers: ${names}`,
    );
  }
  const matchingTriggers = triggers.filter(({ type }) => triggerTypes.has(type));
  // A manual run of a draft may begin at any trigger.
  const candidates = run?.source === 'manual' || matchingTriggers.length === 0 ? triggers : matchingTriggers;
  const [trigger] = candidates;
  if (trigger && candidates.length === 1) return trigger.blockId;
  throw badRequest(
    `Several triggers can start this workflow: name one in run.entry.blockId. Available triggers: ${names}`,
  );
}

/** Starts the requested run. When it throws, no run exists. */
export async function startRun(
  services: AreaContext,
  runOrigin: RunOrigin,
  body: ExecuteBody,
  options: Pick<ExecuteOptions, 'runId' | 'callerId' | 'timeoutMs' | 'signal' | 'via'>,
): Promise<RunHandle> {
  const { workflow, versionOrDraft, start } = runOrigin;
  const until = body.stopAfterBlockId;
  const commonOptions: ExecuteOptions = { ...options, ...(until !== undefined && { until }) };
  const input = (body.input ?? {}) as Json;
  if ('workflow' in versionOrDraft)
    return startDraft(services, { workflow, draft: versionOrDraft, start }, body, commonOptions);
  return services.engine.start(workflow.id, input, {
    ...commonOptions,
    ...versionOrDraft,
    ...(start !== undefined && { start }),
  });
}

/** Returns the workflow and its version as arguments of the engine. */
export function sourceOf({
  workflow,
  versionOrDraft,
}: Omit<RunOrigin, 'start'>): [workflow: WorkflowSource, options: { version?: number }] {
  return 'workflow' in versionOrDraft ? [versionOrDraft, {}] : [workflow.id, versionOrDraft];
}

/** Returns the draft of the workflow. Throws 404 when there is none. */
export async function draftOf(
  { definitions, compat }: Pick<AreaContext, 'definitions' | 'compat'>,
  { id }: Definition,
): Promise<Draft> {
  const workflow = await definitions.findDraft?.(id);
  if (workflow === undefined) throw notFound('Draft');
  return { workflow, ...(compat && { compat }) };
}

async function startDraft(
  services: AreaContext,
  { workflow, draft, start }: { workflow: Definition; draft: Draft; start: string | undefined },
  body: ExecuteBody,
  options: ExecuteOptions,
): Promise<RunHandle> {
  const { engine } = services;
  const entry = body.run?.source === 'manual' ? body.run.entry : undefined;
  const input = body.input as Json | undefined;
  if (entry?.type === 'block') {
    const source = await findSourceRun(services, workflow, entry.sourceRunId);
    const { iterations } = entry;
    const restartOptions = {
      ...options,
      ...(input !== undefined && { input }),
      ...(iterations && { iterations }),
      workflow: draft,
    };
    return withCallerRunId(source, () =>
      engine.runFromBlock(source.engineRunId, entry.blockId, restartOptions),
    );
  }
  // Without input, a run begins with the example values of its trigger, which are the defaults of its fields.
  return engine.start(draft, input ?? {}, { ...options, ...(start !== undefined && { start }) });
}

/** Returns the run of this workflow from which a run of the draft continues. Throws 404. */
export async function findSourceRun(
  services: AreaContext,
  workflow: Definition,
  runId: string,
): Promise<RunIds> {
  try {
    const foundRun = await findRun(services, workflow, runId);
    if (foundRun.run) return foundRun;
  } catch (error) {
    if (!isApiError(error) || error.status !== 404) throw error;
  }
  throw new ApiError(404, `No execution state found for source run "${runId}" in this workflow.`);
}
