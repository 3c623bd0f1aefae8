import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import { serverOptions } from './program-serve.ts';
import { parseCount, jsonDataOption, withOptions } from './run-options.ts';

const TRIGGER_DESCRIPTION = 'id of the trigger, or name or id of a workflow with one trigger';

/** `heddle triggers`: a client of a server's HTTP API. */
export function declareTriggers(program: Command, io: Io, setExitCode: SetExitCode): void {
  const triggers = program
    .command('triggers')
    .summary('List and pause the triggers of a server, and show the events in their flow control.')
    .description(
      'Manages the triggers of deployed workflows on a server (heddle serve), of all types. Set HEDDLE_API_KEY to a key of the server.',
    );
  const listCommand = triggers.command('list').description('Lists the triggers of a workspace.');
  withOptions(listCommand, [...serverOptions(), jsonDataOption('[triggers]')]).action(async (options) => {
    const { listTriggers } = await import('./commands/triggers.ts');
    setExitCode(await listTriggers(io, options));
  });
  const eventsCommand = triggers
    .command('events')
    .description('Lists the latest events of a trigger with the decisions of its flow control.')
    .argument('<trigger>', TRIGGER_DESCRIPTION);
  withOptions(eventsCommand, [
    new Option('--limit <count>', 'maximum number of events').argParser(parseCount).default(50),
    ...serverOptions(),
    jsonDataOption('[events]'),
  ]).action(async (trigger: string, options) => {
    const { listEvents } = await import('./commands/triggers.ts');
    setExitCode(await listEvents(io, trigger, options));
  });
  for (const [name, text] of [
    ['pause', 'Pauses a trigger: it starts nothing until it is resumed.'],
    ['resume', 'Resumes a paused or suspended trigger.'],
  ] as const) {
    const command = triggers.command(name).description(text).argument('<trigger>', TRIGGER_DESCRIPTION);
    withOptions(command, [...serverOptions(), jsonDataOption('trigger')]).action(
      async (trigger: string, options) => {
        const { changeTrigger } = await import('./commands/triggers.ts');
        setExitCode(await changeTrigger(io, trigger, { ...options, action: name }));
      },
    );
  }
}
