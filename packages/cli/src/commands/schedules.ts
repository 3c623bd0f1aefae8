import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { ApiClient, dataOf, stringAt } from '../api-client.ts';
import { readEnv } from '../env.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { formatCount } from '../render/format.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { writeTable } from '../render/table.ts';
import type { RemoteOptions } from '../run-options.ts';
import { findTrigger } from './find-trigger.ts';

const SCHEDULES_PATH = '/api/v2/triggers?type=schedule';

type ScheduleOptions = RemoteOptions & { json: boolean };

/** Lists the schedules of the workspace, ordered by their next run. */
export async function listSchedules(io: Io, options: ScheduleOptions): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const schedules = (await client.fetchWorkspaceItems(SCHEDULES_PATH)).toSorted((a, b) =>
    sortKeyOf(a) < sortKeyOf(b) ? -1 : 1,
  );
  if (options.json) writeJson(io, { data: schedules });
  else if (schedules.length === 0) io.stderr.write('No schedules.\n');
  else {
    const titles = ['WORKFLOW', 'BLOCK', 'STATE', 'NEXT', 'LAST', 'ID', 'ERROR'];
    writeTable(io, titles, schedules.map(rowOf));
  }
  return EXIT.completed;
}

/** Returns the key by which schedules are sorted: the time of the next run. Schedules without a next run come last. */
function sortKeyOf(schedule: JsonObject): string {
  return stringAt(schedule, 'nextDueAt') || '~';
}

function rowOf(schedule: JsonObject): string[] {
  const health = getOwn(schedule, 'health');
  const error = isJsonObject(health) ? stringAt(health, 'lastError') : '';
  const names = [stringAt(schedule, 'workflowName'), stringAt(schedule, 'name'), stringAt(schedule, 'state')];
  const times = [stringAt(schedule, 'nextDueAt') || '-', stringAt(schedule, 'lastDueAt') || '-'];
  return [...names, ...times, stringAt(schedule, 'id'), error].map(sanitizeLine);
}

/** Pauses or resumes a schedule. */
export async function changeSchedule(
  io: Io,
  schedule: string,
  options: ScheduleOptions & { action: 'pause' | 'resume' },
): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const { path, name } = await findSchedule(client, schedule);
  const changedSchedule = dataOf(await client.call('POST', `${path}/${options.action}`));
  const nextDueAt = stringAt(changedSchedule, 'nextDueAt');
  if (options.json) writeJson(io, { data: changedSchedule });
  else if (options.action === 'pause') report(io, `The schedule of ${name} is paused.`);
  else
    report(
      io,
      `The schedule of ${name} is active. ${nextDueAt ? `Its next run is due at ${nextDueAt}.` : 'It has ended.'}`,
    );
  return EXIT.completed;
}

/** Starts a run of a schedule now. */
export async function triggerSchedule(io: Io, schedule: string, options: ScheduleOptions): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const { path } = await findSchedule(client, schedule);
  const run = dataOf(await client.call('POST', `${path}/run`));
  if (options.json) writeJson(io, { data: run });
  else io.stdout.write(`${stringAt(run, 'runId')}\n`);
  return EXIT.completed;
}

/** Starts the runs that were due in a period and have not been started. Returns 1 if the server refuses some. */
export async function backfillSchedule(
  io: Io,
  schedule: string,
  { from, to, limit, ...options }: ScheduleOptions & { from: string; to: string; limit: number },
): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const { path, name } = await findSchedule(client, schedule);
  const result = dataOf(await client.call('POST', `${path}/backfill`, { from, to, limit }));
  const started = getOwn(result, 'started');
  const startedRuns = Array.isArray(started) ? started.filter(isJsonObject) : [];
  const refusalReason = stringAt(result, 'refused');
  if (options.json) writeJson(io, { data: result });
  else {
    for (const run of startedRuns) io.stdout.write(`${stringAt(run, 'runId')}\n`);
    const earlierCount = Number(getOwn(result, 'alreadyStarted'));
    report(
      io,
      `${formatCount(startedRuns.length, 'run')} of ${name} started; ${earlierCount} had been started before.`,
    );
    if (refusalReason)
      io.stderr.write(
        `${styleFor(io.stderr).yellow('!')} Other runs were refused: ${sanitizeLine(refusalReason)}\n`,
      );
  }
  return refusalReason ? EXIT.failed : EXIT.completed;
}

function report(io: Io, text: string): void {
  io.stderr.write(`${styleFor(io.stderr).green('✓')} ${text}\n`);
}

/** Returns the path of a schedule, by its id, or by the name or id of its workflow. Throws usage errors. */
async function findSchedule(client: ApiClient, idOrName: string): Promise<{ path: string; name: string }> {
  const schedule = findTrigger(await client.fetchWorkspaceItems(SCHEDULES_PATH), idOrName, 'schedule');
  const path = `/api/v2/triggers/${encodeURIComponent(stringAt(schedule, 'id'))}`;
  return { path, name: sanitizeLine(stringAt(schedule, 'workflowName')) };
}
