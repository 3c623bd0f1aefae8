import { randomUUID } from 'node:crypto';
import type { Principal } from '../../auth/principal.ts';
import { ApiError, unavailable } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { ClaimRow, WorkflowRow } from '../../store/schema.ts';
import { isManual } from './rules.ts';
import type { ExecuteBody } from './schemas.ts';

/** How often an id of our own is taken that turns out to be used. */
const MOST_CLAIMS = 3;

/** The id of the run to be, which is from now on used. Throws 409, 503. */
export async function claim(
  services: Services,
  workflow: WorkflowRow,
  { headers, body, principal }: { headers: Headers; body: ExecuteBody; principal: Principal },
): Promise<string> {
  // Who is not known cannot choose an id: it would be taken from those who are.
  const given = principal.anonymous ? null : headers.get('x-run-id');
  const row: Omit<ClaimRow, 'run_id' | 'waiting' | 'failure'> = {
    workflow_id: workflow.id,
    workspace_id: workflow.workspace_id,
    trigger: isManual(body) ? 'manual' : 'api',
    mode: modeOf(body),
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

/** 409 for an id that has been used. */
export function taken(runId: string): ApiError {
  return new ApiError(409, 'Run ID has already been used', {
    details: { code: 'RUN_ID_CONFLICT', runId },
    headers: { 'X-Run-Id': runId },
  });
}

/** How the caller learns what has come of the run. */
export function modeOf(body: ExecuteBody): ClaimRow['mode'] {
  if (body.async) return 'async';
  return body.stream ? 'stream' : 'sync';
}
