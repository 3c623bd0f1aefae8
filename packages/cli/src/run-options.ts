import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { BlockOptions } from './block-options.ts';
import { DEFAULT_DATA } from './place.ts';
import type { PlaceOptions } from './place.ts';

/** Options of the commands that start or go on with runs, as the actions get them. */
export interface RunOptions extends PlaceOptions, BlockOptions {
  input?: string;
  env: string[];
  envFile: string[];
  mock: string[];
  mocks: string[];
  workflows?: string;
  compat: boolean;
  json: boolean;
  select: string[];
  /** Milliseconds. */
  timeout?: number;
}

/** Milliseconds, of an option that is given in seconds. */
export function seconds(text: string): number {
  const count = Number(text);
  if (text.trim() !== '' && Number.isFinite(count) && count > 0) return count * 1000;
  throw new InvalidArgumentError('It is a number of seconds above 0.');
}

/** Half of what one text may have in V8. */
const MOST_RESULT_MIB = 256;

function mebibytes(text: string): number {
  const count = Number(text);
  if (text.trim() !== '' && count > 0 && count <= MOST_RESULT_MIB) return count;
  throw new InvalidArgumentError(`It is a number of MiB above 0, ${MOST_RESULT_MIB} at most.`);
}

const DEFINITIONS = {
  input: () => [new Option('-i, --input <json>', 'input of the run: JSON, @file, or - for standard input')],
  env: () => [
    repeatable('-e, --env <name=value>', "value of {{NAME}}; NAME alone takes the shell's (repeatable)"),
    dotenvOption('--dotenv <file>'),
    // Node reads a file behind this name before our code runs: it ends when there is none, and a pipe is empty afterwards.
    dotenvOption('--env-file <file>').hideHelp(),
  ],
  mocks: () => [
    repeatable('--mock <type=json>', 'output in place of every block of a type (repeatable)'),
    repeatable('--mocks <file>', '{"blocks": {NAME: …}, "types": {TYPE: …}}, each a value or a list in turn'),
  ],
  workflows: () => [
    new Option('--workflows <dir>', 'folder with the workflows that this one runs as children'),
  ],
  data: () => [new Option('--data <dir>', 'folder in which runs are kept').default(DEFAULT_DATA)],
  postgres: () => [
    new Option(
      '--postgres <url>',
      'PostgreSQL database in which runs are kept, for processes that share them',
    ).conflicts('data'),
  ],
  runtime: () => [
    new Option('--runtime <name>', 'where runs run: in this process, or on a Temporal server')
      .choices(['local', 'temporal'])
      .default('local'),
  ],
  server: () => [
    new Option('--address <host:port>', 'the Temporal server: else TEMPORAL_ADDRESS, else 127.0.0.1:7233'),
    new Option('--namespace <name>', 'on the server: else TEMPORAL_NAMESPACE, else default'),
    new Option('--queue <name>', 'task queues of runs on Temporal begin with it: else heddle'),
    new Option(
      '--checkpoint <step>',
      'what a lost worker on Temporal leaves to be done again: at most a segment of code, or one block; the same for all processes',
    ).choices(['segment', 'block']),
  ],
  worker: () => [
    new Option('--no-worker', 'leave the work on Temporal to other processes: else this one helps'),
  ],
  isolation: () => [
    new Option('--isolation <level>', 'run no code here that the system confines less').choices([
      'basic',
      'standard',
      'strict',
    ]),
  ],
  egress: () => [
    repeatable(
      '--allow-host <host[:port]>',
      'let blocks reach this host of an internal network, or a range like 10.1.0.0/16; port *: any (repeatable; also HEDDLE_ALLOW_HOSTS)',
    ),
    repeatable(
      '--deny-host <host[:port]>',
      'let blocks never reach this host or range (repeatable; also HEDDLE_DENY_HOSTS)',
    ),
  ],
  resultLimit: () => [
    new Option('--result-limit <MiB>', 'largest result of code as JSON: else 4').argParser(mebibytes),
  ],
  bubblewrap: () => [
    new Option('--bubblewrap <file>', 'bubblewrap, where it is not with the programs of the system'),
  ],
  images: () => [new Option('--images <dir>', 'folder in which images are kept').default('./.heddle/images')],
  compat: () => [
    new Option('--compat', 'read unknown references and edges as older engines do, with warnings').default(
      false,
    ),
  ],
  json: () => [new Option('--json', 'print {"data": run} on stdout and no progress').default(false)],
  select: () => [
    repeatable('--select <block.path>', 'show this value in blockOutputs, with --json (repeatable)'),
  ],
  timeout: () => [new Option('--timeout <seconds>', 'fail the run when it takes longer').argParser(seconds)],
} satisfies { [group: string]: () => Option[] };

/** Fresh options of the named groups, in this order. */
export function runOptions(...groups: (keyof typeof DEFINITIONS)[]): Option[] {
  return groups.flatMap((group) => DEFINITIONS[group]());
}

/** The command, with the options. */
export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

/** Both names collect into one list. */
function dotenvOption(flags: string): Option {
  const option = repeatable(flags, 'values of {{NAME}} in dotenv syntax (repeatable)');
  return Object.assign(option, { attributeName: () => 'envFile' });
}

/** An option that may stand several times; what it was given is collected. */
export function repeatable(flags: string, description: string): Option {
  const option = new Option(flags, description).argParser((value: string, before: string[]) => [
    ...before,
    value,
  ]);
  return option.default([]);
}
