import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { BlockOptions } from './block-options.ts';
import type { BindingOptions } from './input/bindings.ts';
import { DEFAULT_DATA_FOLDER } from './store-options.ts';
import type { RuntimeOptions } from './store-options.ts';

/** Options of the commands that start or continue runs, as their actions get them. */
export interface RunOptions extends RuntimeOptions, BlockOptions, BindingOptions {
  input?: string;
  env: string[];
  envFile: string[];
  mock: string[];
  mocks: string[];
  workflows?: string;
  compat: boolean;
  json: boolean;
  stream: boolean;
  select: string[];
  /** Milliseconds. */
  timeout?: number;
}

/** Options of the commands that call a server. */
export interface RemoteOptions {
  /** Default: HEDDLE_URL, or the default address of `heddle serve`. */
  url?: string;
  /** Default: HEDDLE_WORKSPACE. */
  workspace?: string;
}

export const DEFAULT_URL = 'http://127.0.0.1:7373';

/** Parses the value of an option that is a count. */
export function parseCount(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('Use a whole number above 0.');
}

/** Parses the value of an option in seconds. Returns milliseconds. */
export function parseSecondsAsMs(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value * 1000;
  throw new InvalidArgumentError('Use a number of seconds above 0.');
}

/** Half of V8's maximum string length, in MiB. */
const MAX_RESULT_MIB = 256;

function parseMebibytes(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value > 0 && value <= MAX_RESULT_MIB) return value;
  throw new InvalidArgumentError(`Use a number of MiB above 0, at most ${MAX_RESULT_MIB}.`);
}

/** The effect of `--compat` on the check of a workflow. */
export const COMPAT_EFFECT =
  'only warn about references to unknown blocks or variables, and about edges to missing blocks';

const OPTION_GROUPS = {
  input: () => [new Option('-i, --input <json>', 'input of the run: JSON, @file, or - for standard input')],
  env: () => [
    repeatableOption(
      '-e, --env <name=value>',
      'value of {{NAME}}; NAME alone takes the value from the shell (repeatable)',
    ),
    dotenvOption('--dotenv <file>'),
    // Node itself reads --env-file before our code runs: it exits if the file is missing, and empties a pipe.
    dotenvOption('--env-file <file>').hideHelp(),
  ],
  mocks: () => [
    repeatableOption('--mock <type=json>', 'mock every block of a type with this output (repeatable)'),
    repeatableOption(
      '--mocks <file>',
      'mock file: {"blocks": {NAME: …}, "types": {TYPE: …}}, each an output, or a list of outputs for successive calls',
    ),
  ],
  bindings: () => [
    repeatableOption(
      '--set <block.field=json>',
      'fill a field of a block; BLOCK is its name or id (repeatable)',
    ),
    repeatableOption(
      '--bindings <file>',
      'JSON file that fills fields of blocks: {BLOCK: {FIELD: value}} (repeatable)',
    ),
  ],
  workflows: () => [new Option('--workflows <dir>', 'folder of child workflows')],
  data: () => [new Option('--data <dir>', 'folder that stores runs').default(DEFAULT_DATA_FOLDER)],
  postgres: () => [
    new Option(
      '--postgres <url>',
      'PostgreSQL database that stores runs, shared by several processes',
    ).conflicts('data'),
  ],
  runtime: () => [
    new Option('--runtime <name>', 'where runs execute: in this process, or on a Temporal server')
      .choices(['local', 'temporal'])
      .default('local'),
  ],
  temporalServer: () => [
    new Option('--address <host:port>', 'Temporal server (default: TEMPORAL_ADDRESS, or 127.0.0.1:7233)'),
    new Option('--namespace <name>', 'Temporal namespace (default: TEMPORAL_NAMESPACE, or default)'),
    new Option('--queue <name>', 'prefix of the Temporal task queues (default: heddle)'),
    new Option(
      '--checkpoint <unit>',
      'what runs again on Temporal after the loss of a worker: a segment of compute blocks, or one block; the same in all processes',
    )
      .choices(['segment', 'block'])
      .default(undefined, 'segment'),
  ],
  worker: () => [
    new Option('--no-worker', 'execute no blocks on Temporal in this process, only in other workers'),
  ],
  isolation: () => [
    new Option(
      '--isolation <level>',
      'minimum isolation of code: refuse to run code on a host that offers less',
    ).choices(['basic', 'standard', 'strict']),
  ],
  egress: () => [
    repeatableOption(
      '--allow-host <host[:port]>',
      'allow blocks to reach an internal host or a range like 10.1.0.0/16; port * for any (repeatable; also HEDDLE_ALLOW_HOSTS)',
    ),
    repeatableOption(
      '--deny-host <host[:port]>',
      'deny blocks this host or range (repeatable; also HEDDLE_DENY_HOSTS)',
    ),
  ],
  models: () => [
    new Option('--default-model <name>', 'model of agents without a model'),
    repeatableOption(
      '--fallback-model <name>',
      'model that answers if the model of a block is unavailable, in this order (repeatable)',
    ),
    repeatableOption(
      '--max-cost <scope=dollars>',
      'cap on what models cost: call=, run=, conversation= or workspace=DOLLARS, the last two also /hour, /day or /month (repeatable)',
    ),
    repeatableOption(
      '--price <model=prices>',
      'PROVIDER/MODEL=INPUT,OUTPUT[,CACHED] in dollars for a million tokens (repeatable)',
    ),
    repeatableOption(
      '--model-rate <provider=rates>',
      'PROVIDER=REQUESTS[,TOKENS] per minute for each of its keys (repeatable)',
    ),
  ],
  services: () => [
    repeatableOption(
      '--service <name=url>',
      'base URL of a service such as openai, instead of its default, or of your own service (repeatable)',
    ),
    repeatableOption(
      '--credential <name=value>',
      'key of a service for all workflows; replaces the usual variable, such as OPENAI_API_KEY (repeatable)',
    ),
    repeatableOption(
      '--service-rate <name=calls/seconds>',
      'SERVICE=CALLS/SECONDS: how many calls each credential of a service may make in this time (repeatable)',
    ),
    repeatableOption('--tools <file>', 'tool file that heddle tools import has written (repeatable)'),
    repeatableOption('--mcp <name=url>', 'URL of an MCP server for blocks and agents (repeatable)'),
    repeatableOption(
      '--mcp-command <name=command>',
      'stdio MCP server: absolute path of its program and arguments, as words or a JSON array (repeatable)',
    ),
    repeatableOption(
      '--mcp-tools <name=tools>',
      'allow only these tools of an MCP server, separated by commas (repeatable)',
    ),
  ],
  workspace: () => [
    new Option(
      '--workspace <id>',
      'workspace of heddle serve whose stored credentials and skills blocks use (default: none)',
    ),
  ],
  resultLimit: () => [
    new Option('--result-limit <MiB>', 'maximum size of a result of code as JSON, in MiB')
      .argParser(parseMebibytes)
      .default(undefined, '4'),
  ],
  bubblewrap: () => [new Option('--bubblewrap <file>', 'path of bubblewrap, if not in a system folder')],
  images: () => [new Option('--images <dir>', 'folder that stores images').default('./.heddle/images')],
  compat: () => [
    new Option('--compat', `${COMPAT_EFFECT}; also insert values into URLs without encoding`).default(false),
  ],
  json: () => [jsonDataOption('run')],
  stream: () => [
    new Option(
      '--stream',
      'print text of agents as it arrives instead of the output; with --json, every event as a line of JSON',
    ).default(false),
  ],
  select: () => [
    repeatableOption('--select <block.path>', 'include this value in blockOutputs, with --json (repeatable)'),
  ],
  timeout: () => [
    new Option('--timeout <seconds>', 'time limit of the run, in seconds: the run fails after it').argParser(
      parseSecondsAsMs,
    ),
  ],
} satisfies { [group: string]: () => Option[] };

type OptionGroup = keyof typeof OPTION_GROUPS;

const INPUT = 'Workflow and input:';
const SERVICES = 'Services and tools:';
const EXECUTION = 'Execution:';
const STORAGE = 'Storage:';
const TEMPORAL = 'Temporal:';
const OUTPUT = 'Output:';

/** Headings of the options in the help of commands with many options. */
const HEADINGS: Readonly<Record<OptionGroup, string>> = {
  input: INPUT,
  bindings: INPUT,
  env: INPUT,
  mocks: INPUT,
  workflows: INPUT,
  compat: INPUT,
  models: 'Models and cost:',
  services: SERVICES,
  workspace: SERVICES,
  egress: 'Network:',
  timeout: EXECUTION,
  isolation: EXECUTION,
  resultLimit: EXECUTION,
  bubblewrap: EXECUTION,
  data: STORAGE,
  postgres: STORAGE,
  images: STORAGE,
  runtime: TEMPORAL,
  temporalServer: TEMPORAL,
  worker: TEMPORAL,
  json: OUTPUT,
  stream: OUTPUT,
  select: OUTPUT,
};

/** The groups of the options that every command for starting a new run has. */
export const NEW_RUN_OPTION_GROUPS = [
  ...(['input', 'bindings', 'env', 'mocks', 'workflows', 'compat'] as const),
  ...(['models', 'services', 'workspace', 'egress', 'timeout', 'isolation', 'resultLimit'] as const),
  ...(['data', 'postgres', 'runtime', 'temporalServer', 'worker', 'json', 'stream', 'select'] as const),
] as const;

/** Returns new options of the named groups, in this order. */
export function runOptions(...groups: OptionGroup[]): Option[] {
  return groups.flatMap((group) => OPTION_GROUPS[group]());
}

/** Like `runOptions`, but the help shows each option under the heading of its group. */
export function groupedOptions(...groups: OptionGroup[]): Option[] {
  return groups.flatMap((group) => OPTION_GROUPS[group]().map((option) => option.helpGroup(HEADINGS[group])));
}

/** Adds options to a command and returns it. */
export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

/** Adds `--data`, `--postgres` and `--json` to a command, and returns it. */
export function withStoreOptions(command: Command): Command {
  const json = new Option('--json', 'print only JSON').default(false);
  return withOptions(command, [...runOptions('data', 'postgres'), json]);
}

/** Returns an option for dotenv files. Both names of the option add to the same list. */
function dotenvOption(flags: string): Option {
  const option = repeatableOption(flags, 'values of {{NAME}} in dotenv syntax (repeatable)');
  return Object.assign(option, { attributeName: () => 'envFile' });
}

/** Returns an option that may be repeated. Its value is the list of all values. */
export function repeatableOption(flags: string, description: string): Option {
  const option = new Option(flags, description).argParser((value: string, previousValues: string[]) => [
    ...previousValues,
    value,
  ]);
  return option.default([]);
}

/** Returns the option of commands that print `data` of a response; `shape` describes the data. */
export function jsonDataOption(shape: string): Option {
  return new Option('--json', `print only JSON: {"data": ${shape}}`).default(false);
}
