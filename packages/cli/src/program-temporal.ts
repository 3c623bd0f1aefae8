import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import { groupedOptions, withOptions } from './run-options.ts';

const ROLES = ['engine', 'effects', 'segments'] as const;

/** `heddle worker` and `heddle dev`: processes that execute runs on Temporal. */
export function declareTemporal(program: Command, io: Io, setExitCode: SetExitCode): void {
  declareWorker(program, io, setExitCode);
  declareDev(program, io, setExitCode);
}

function declareWorker(program: Command, io: Io, setExitCode: SetExitCode): void {
  const command = program
    .command('worker')
    .summary('Execute runs on Temporal until stopped.')
    .description(
      'Executes runs on Temporal until SIGTERM or Ctrl-C. Then it starts nothing new and lets running blocks finish. A ' +
        'second signal kills the process. All processes of a deployment use the same queue and the same data folder ' +
        'or database.',
    );
  withOptions(command, [
    ...groupedOptions('temporalServer', 'data', 'postgres', 'env', 'models', 'services', 'egress'),
    ...groupedOptions('isolation', 'resultLimit'),
    new Option(
      '--roles <list>',
      `roles, separated by commas (choices: ${ROLES.join(', ')}; default: all)`,
    ).argParser(parseRoles),
    new Option(
      '--build <deployment:build>',
      'version of a worker deployment: runs stay on the version that started them',
    ).argParser(parseBuild),
    new Option(
      '--health <host:port>',
      'serve /healthz and /metrics on this address; a port alone means 127.0.0.1',
    ).argParser(parseListenAddress),
    new Option('--origin <url>', 'base URL of heddle serve, for the URLs at which people answer pauses'),
    new Option('--triggers', 'also start the runs of schedules, feeds and events').default(false),
    new Option('--limits <file>', 'JSON file with limits for the runs of triggers'),
    graceOption(),
    new Option('--json', 'print one line of JSON when it is ready').default(false),
  ]).action(async (options) => {
    const { runWorker } = await import('./commands/worker.ts');
    setExitCode(await runWorker(io, options));
  });
}

function declareDev(program: Command, io: Io, setExitCode: SetExitCode): void {
  const command = program
    .command('dev')
    .summary('Start a Temporal server for development, and a worker.')
    .description(
      'Starts a Temporal server for development, with its database in the data folder, and a worker. Ctrl-C stops both. ' +
        'If TEMPORAL_ADDRESS is set, it uses that server instead. It takes the temporal command from TEMPORAL_CLI, PATH ' +
        'or a cache, or else builds it with Go or downloads it.',
    );
  const [, namespace, queue] = groupedOptions('temporalServer') as [Option, Option, Option];
  withOptions(command, [
    new Option('--port <number>', 'port of the server').argParser(parsePort).default(7233),
    namespace,
    queue,
    ...groupedOptions('data', 'env', 'models', 'services', 'egress', 'isolation', 'resultLimit'),
    graceOption(),
    new Option('--json', 'print one line of JSON when it is ready').default(false),
  ]).action(async (options) => {
    const { dev } = await import('./commands/dev.ts');
    setExitCode(await dev(io, options));
  });
}

/** Returns the option for the grace period of running blocks after a signal. */
export function graceOption(): Option {
  return new Option(
    '--grace <seconds>',
    'how long running blocks may continue after the first signal, in seconds',
  )
    .default(30)
    .argParser((text: string) => {
      const seconds = Number(text);
      if (text.trim() !== '' && Number.isFinite(seconds) && seconds >= 0) return seconds;
      throw new InvalidArgumentError('Use a number of seconds of at least 0.');
    });
}

function parseRoles(text: string): string[] {
  const names = text.split(',').map((role) => role.trim());
  const unknownRole = names.find((role) => !ROLES.some((knownRole) => knownRole === role));
  if (unknownRole !== undefined)
    throw new InvalidArgumentError(`"${unknownRole}" is not a role. Use ${ROLES.join(', ')}.`);
  return [...new Set(names)];
}

function parseBuild(text: string): { deployment: string; build: string } {
  const [, deployment = '', buildId = ''] = /^([^:]+):([^:]+)$/.exec(text) ?? [];
  if (buildId !== '') return { deployment, build: buildId };
  throw new InvalidArgumentError('Use DEPLOYMENT:BUILD, two names of your choice.');
}

function parseListenAddress(text: string): { host: string; port: number } {
  const [, host = '127.0.0.1', portText = ''] = /^(?:(.+):)?(\d+)$/.exec(text) ?? [];
  if (portText === '') throw new InvalidArgumentError('Use HOST:PORT or PORT.');
  return { host: host.replaceAll(/^\[|\]$/g, ''), port: portText === '0' ? 0 : parsePort(portText) };
}

function parsePort(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new InvalidArgumentError('Use a whole number from 1 to 65535.');
}
