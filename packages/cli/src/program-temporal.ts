import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';
import { runOptions, withOptions } from './run-options.ts';

type Done = (exit: number) => void;

const ROLES = ['engine', 'effects', 'segments'] as const;

/** `heddle worker` and `heddle dev`: processes that run what others start on Temporal. */
export function declareTemporal(program: Command, io: Io, done: Done): void {
  declareWorker(program, io, done);
  declareDev(program, io, done);
}

function declareWorker(program: Command, io: Io, done: Done): void {
  const command = program
    .command('worker')
    .summary('Run what is started on Temporal, until it is told to stop.')
    .description(
      'Runs what is started on Temporal, until SIGTERM or Ctrl-C: then it begins nothing new, and blocks that run may ' +
        'finish. A second signal ends it at once. All processes of a deployment name the same queue and the same records.',
    );
  withOptions(command, [
    ...runOptions('server', 'data', 'postgres', 'env', 'egress', 'isolation', 'resultLimit'),
    new Option('--roles <list>', `what it takes on, with commas: ${ROLES.join(', ')}; else all`).argParser(
      roles,
    ),
    new Option(
      '--build <deployment:build>',
      'which version of which worker deployment it is: runs stay on the version that has begun them',
    ).argParser(build),
    new Option(
      '--health <host:port>',
      'answer /healthz and /metrics there; a port alone is of this machine',
    ).argParser(listenAt),
    graceOption(),
    new Option('--json', 'say on stdout that it is ready as one line of JSON').default(false),
  ]).action(async (options) => {
    const { worker } = await import('./commands/worker.ts');
    done(await worker(io, options));
  });
}

function declareDev(program: Command, io: Io, done: Done): void {
  const command = program
    .command('dev')
    .summary('Start a Temporal server for development, and a worker.')
    .description(
      'Starts a Temporal server for development, whose database is kept in the data folder, and a worker, until Ctrl-C. ' +
        'Uses the server at TEMPORAL_ADDRESS instead when that is set. The command that starts a server is found ' +
        'through TEMPORAL_CLI, on PATH or in a cache; else it is built with Go or downloaded.',
    );
  const [, namespace, queue] = runOptions('server') as [Option, Option, Option];
  withOptions(command, [
    new Option('--port <number>', 'of the server').argParser(port).default(7233),
    namespace,
    queue,
    ...runOptions('data', 'env', 'egress', 'isolation', 'resultLimit'),
    graceOption(),
    new Option('--json', 'say on stdout where things are as one line of JSON').default(false),
  ]).action(async (options) => {
    const { dev } = await import('./commands/dev.ts');
    done(await dev(io, options));
  });
}

/** How long what runs may go on once the end is asked for. */
export function graceOption(): Option {
  return new Option('--grace <seconds>', 'how long blocks that run may go on after the first signal')
    .default(30)
    .argParser((text: string) => {
      const seconds = Number(text);
      if (text.trim() !== '' && Number.isFinite(seconds) && seconds >= 0) return seconds;
      throw new InvalidArgumentError('It is a number of seconds from 0 on.');
    });
}

function roles(text: string): string[] {
  const given = text.split(',').map((role) => role.trim());
  const unknown = given.find((role) => !ROLES.some((each) => each === role));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${ROLES.join(', ')}.`);
  return [...new Set(given)];
}

function build(text: string): { deployment: string; build: string } {
  const [, deployment = '', id = ''] = /^([^:]+):([^:]+)$/.exec(text) ?? [];
  if (id !== '') return { deployment, build: id };
  throw new InvalidArgumentError('It is DEPLOYMENT:BUILD, two names of your own.');
}

function listenAt(text: string): { host: string; port: number } {
  const [, host = '127.0.0.1', number = ''] = /^(?:(.+):)?(\d+)$/.exec(text) ?? [];
  if (number === '') throw new InvalidArgumentError('It is HOST:PORT, or PORT.');
  return { host: host.replaceAll(/^\[|\]$/g, ''), port: number === '0' ? 0 : port(number) };
}

function port(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new InvalidArgumentError('It is a whole number from 1 to 65535.');
}
