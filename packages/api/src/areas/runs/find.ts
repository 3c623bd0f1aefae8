import type { RunDetail } from '@heddle/engine';
import { isRunNotFound } from '../../engine-errors.ts';
import { notFound } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { ClaimRow, WorkflowRow } from '../../store/schema.ts';

/** A run as the engine has it, and the claim of its id; a run that waits to be started has the claim alone. */
export type FoundRun = { run: RunDetail; claim: ClaimRow | undefined } | { run: undefined; claim: ClaimRow };

/** The run of the workflow. Throws 404, also for a run of another workflow. */
export async function findRun(services: Services, workflow: WorkflowRow, runId: string): Promise<FoundRun> {
  const first = await engineRun(services, runId);
  const claim = await services.store.claims.find(runId);
  if (claim && claim.workflow_id !== workflow.id) throw notFound('Run');
  const unstarted = claim && (claim.waiting !== null || claim.failure !== null);
  if (!first && unstarted) return { run: undefined, claim };
  // It may have been started between the two looks.
  const run = first ?? (await engineRun(services, runId));
  if (!run || run.workflowId !== workflow.id) throw notFound('Run');
  return { run, claim };
}

async function engineRun({ engine }: Services, runId: string): Promise<RunDetail | undefined> {
  try {
    return await engine.getRun(runId);
  } catch (error) {
    if (isRunNotFound(error)) return undefined;
    throw error;
  }
}
