import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import { serverOptions } from './program-serve.ts';
import { parseCount, jsonDataOption, withOptions } from './run-options.ts';

const SCHEDULE_DESCRIPTION = 'id of the schedule, or name or id of a workflow with one schedule';

/** `heddle schedules`: a client of a server's HTTP API. */
export function declareSchedules(program: Command, io: Io, setExitCode: SetExitCode): void {
  const schedules = program
    .command('schedules')
    .summary('List, pause and start the schedules of a server.')
    .description(
      'Manages the schedules of deployed workflows on a server (heddle serve). Set HEDDLE_API_KEY to a key of the server.',
    );
  const listCommand = schedules.command('list').description('Lists the schedules of a workspace.');
  withOptions(listCommand, [...serverOptions(), jsonDataOption('[schedules]')]).action(async (options) => {
    const { listSchedules } = await import('./commands/schedules.ts');
    setExitCode(await listSchedules(io, options));
  });
  for (const [name, text] of [
    ['pause', 'Pauses a schedule: nothing is due until it is resumed.'],
    ['resume', 'Resumes a paused or suspended schedule. Runs that were due meanwhile are not started.'],
  ] as const) {
    const command = schedules.command(name).description(text).argument('<schedule>', SCHEDULE_DESCRIPTION);
    withOptions(command, [...serverOptions(), jsonDataOption('schedule')]).action(
      async (schedule: string, options) => {
        const { changeSchedule } = await import('./commands/schedules.ts');
        setExitCode(await changeSchedule(io, schedule, { ...options, action: name }));
      },
    );
  }
  const triggerCommand = schedules
    .command('trigger')
    .description('Starts a run of a schedule now, in addition to its due runs. Prints the id of the run.')
    .argument('<schedule>', SCHEDULE_DESCRIPTION);
  withOptions(triggerCommand, [...serverOptions(), jsonDataOption('run')]).action(
    async (schedule: string, options) => {
      const { triggerSchedule } = await import('./commands/schedules.ts');
      setExitCode(await triggerSchedule(io, schedule, options));
    },
  );
  const backfillCommand = schedules
    .command('backfill')
    .description(
      'Starts the runs that were due in a past period and have not been started. Prints the ids of the runs.',
    )
    .argument('<schedule>', SCHEDULE_DESCRIPTION);
  withOptions(backfillCommand, [
    new Option('--from <time>', 'the earliest due time (2026-01-31T00:00:00Z)').makeOptionMandatory(),
    new Option('--to <time>', 'the latest due time, not in the future').makeOptionMandatory(),
    new Option('--limit <count>', 'maximum number of runs, up to 1,000: if more are due, none is started')
      .argParser(parseCount)
      .default(100),
    ...serverOptions(),
    jsonDataOption('backfill'),
  ]).action(async (schedule: string, options) => {
    const { backfillSchedule } = await import('./commands/schedules.ts');
    setExitCode(await backfillSchedule(io, schedule, options));
  });
}
