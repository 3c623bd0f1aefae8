import { EngineError } from '@heddle/core';
import type { NewRun, Plan } from '@heddle/core';
import type { Entry } from '@heddle/core/run';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { beginningOf } from '../../execution/run-start.ts';
import type { RunRequest } from '../../execution/run-start.ts';

/** A run that is recorded, for somebody to start. */
export interface Recorded {
  plan: Plan;
  header: NewRun;
  first: Extract<Entry, { type: 'started' }>;
}

/** Claims the run's id and records how it begins, for another place to run it; undefined: the id is taken. Throws as `beginningOf` does. */
export async function recordStart(parts: RuntimeParts, request: RunRequest): Promise<Recorded | undefined> {
  const environment = await parts.environments.open(request.plan);
  const { header, first, record } = await beginningOf(
    { ...parts, environment },
    { ...request, elsewhere: true },
  );
  const isNew = await parts.stores.runs.create(header, first, record);
  return isNew ? { plan: request.plan, header, first: started(first) } : undefined;
}

/** What a recorded run begins with; undefined: there is no such run. Throws PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT. */
export async function startOf(
  parts: Pick<RuntimeParts, 'stores' | 'definitions'>,
  runId: string,
): Promise<Recorded | undefined> {
  const header = await parts.stores.runs.header(runId);
  return header && recordedRun(parts, header);
}

/** What the run with this header begins with. Throws PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT. */
export async function recordedRun(
  { stores, definitions }: Pick<RuntimeParts, 'stores' | 'definitions'>,
  header: NewRun,
): Promise<Recorded> {
  const [first] = await stores.runs.journal(header.runId);
  return { plan: await definitions.plan(header.planHash), header, first: started(first) };
}

function started(entry: Entry | undefined): Recorded['first'] {
  if (entry?.type !== 'started')
    throw new EngineError('JOURNAL_CORRUPT', 'The journal of a run does not begin with its start.');
  return entry;
}
