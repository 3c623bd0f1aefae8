import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';
import { graceOption } from './program-temporal.ts';
import { runOptions, withOptions } from './run-options.ts';

/** A hundred years: as good as for ever. */
const MOST_DAYS = 36_500;

type Done = (exit: number) => void;

/** `heddle serve`, `heddle keys` and `heddle workspaces`: the HTTP interface, and who may call it. */
export function declareServe(program: Command, io: Io, done: Done): void {
  const serve = program
    .command('serve')
    .summary('Serve the HTTP interface.')
    .description(
      'Serves the HTTP interface, and runs what is started through it, until SIGTERM or Ctrl-C: then it takes no more ' +
        'requests, and blocks that run may finish. Runs that have not ended go on at the next start, or with --postgres in the other ' +
        'processes that serve the same database. The first start makes a workspace and a key, which is shown this once.',
    );
  withOptions(serve, [
    new Option('--port <number>', 'port to listen on; 0: any').default(7373).argParser(port),
    new Option('--host <address>', 'address to listen on').default('127.0.0.1'),
    new Option(
      '--origin <url>',
      'how callers reach it, for addresses in answers (default: the address it listens on)',
    ),
    ...runOptions('data', 'env', 'egress', 'compat', 'isolation', 'resultLimit'),
    ...runOptions('runtime', 'server', 'postgres'),
    graceOption(),
    new Option('--keep-public-runs <days>', 'delete runs of callers without a key so long after their end')
      .default(30)
      .argParser(days),
    new Option('--json', 'say on stdout that it is ready as one line of JSON').default(false),
  ]).action(async (options) => {
    const { serve: run } = await import('./commands/serve.ts');
    done(await run(io, options));
  });
  declareKeys(program, io, done);
  const workspaces = program.command('workspaces').description('Workspaces of the HTTP interface.');
  withPlace(workspaces.command('list').description('Lists workspaces, oldest first.')).action(
    async (options) => {
      const { listWorkspaces } = await import('./commands/keys.ts');
      done(await listWorkspaces(io, options));
    },
  );
}

function declareKeys(program: Command, io: Io, done: Done): void {
  const keys = program
    .command('keys')
    .summary('Create, list and revoke API keys.')
    .description(
      'Keys of the HTTP interface, also while it is served. KEY is the id of a key, or the beginning of one.',
    );
  const create = keys.command('create').description('Creates a key and prints it, this once.');
  create.addOption(new Option('--name <text>', 'to tell it apart').default('key'));
  create.addOption(
    new Option(
      '--workspace [id]',
      'a key of this workspace, or of the only one: else one of the first person',
    ),
  );
  withPlace(create).action(async (options) => {
    const { createKey } = await import('./commands/keys.ts');
    done(await createKey(io, options));
  });
  withPlace(keys.command('list').description('Lists keys, the revoked ones too.')).action(async (options) => {
    const { listKeys } = await import('./commands/keys.ts');
    done(await listKeys(io, options));
  });
  const revoke = keys.command('revoke').description('Revokes a key at once.').argument('<key>', 'a key');
  withPlace(revoke).action(async (key: string, options) => {
    const { revokeKey } = await import('./commands/keys.ts');
    done(await revokeKey(io, key, options));
  });
}

function withPlace(command: Command): Command {
  for (const option of runOptions('data', 'postgres')) command.addOption(option);
  return command.addOption(new Option('--json', 'print JSON and nothing else').default(false));
}

function days(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= 1 && number <= MOST_DAYS) return number;
  throw new InvalidArgumentError(`It is a number from 1 to ${MOST_DAYS}.`);
}

function port(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isInteger(number) && number >= 0 && number < 65_536) return number;
  throw new InvalidArgumentError('It is a whole number from 0 to 65535.');
}
