import type { RunHeader, Plan } from '@heddle/core';
import { journalCorruptError } from '@heddle/core/run';
import type { Entry } from '@heddle/core/run';
import { prepareStart } from '../../execution/run-start.ts';
import type { StartRequest } from '../../execution/run-start.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';

/** A recorded run that is ready to be started. */
export interface RecordedRun {
  plan: Plan;
  header: RunHeader;
  startedEntry: Extract<Entry, { type: 'started' }>;
}

/**
 * Records the start of a run that another process will execute. Returns undefined if the id is taken. Throws
 * ENVIRONMENT_UNAVAILABLE, and the errors of `prepareStart`.
 */
export async function recordStart(
  dependencies: RuntimeDependencies,
  request: StartRequest,
): Promise<RecordedRun | undefined> {
  const environment = await dependencies.environments.open(request.plan);
  const { header, firstEntry, record } = await prepareStart(
    { ...dependencies, environment },
    { ...request, remote: true },
  );
  const isCreated = await dependencies.stores.runs.create(header, firstEntry, record);
  return isCreated
    ? { plan: request.plan, header, startedEntry: requireStarted(header, firstEntry) }
    : undefined;
}

/** Returns the start of the run with this header. Throws PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT. */
export async function readRecordedRun(
  { stores, definitions }: Pick<RuntimeDependencies, 'stores' | 'definitions'>,
  header: RunHeader,
): Promise<RecordedRun> {
  const [firstEntry] = await stores.runs.journal(header.runId);
  return {
    plan: await definitions.plan(header.planHash),
    header,
    startedEntry: requireStarted(header, firstEntry),
  };
}

function requireStarted({ runId }: RunHeader, entry: Entry | undefined): RecordedRun['startedEntry'] {
  if (entry?.type !== 'started')
    throw journalCorruptError(runId, 'it does not begin with the start of the run');
  return entry;
}
