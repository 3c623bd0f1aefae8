import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import { graceOption } from './program-temporal.ts';
import {
  COMPAT_EFFECT,
  DEFAULT_URL,
  groupedOptions,
  jsonDataOption,
  repeatableOption,
  runOptions,
  withOptions,
  withStoreOptions,
} from './run-options.ts';

/** A hundred years. */
const MAX_DAYS = 36_500;

/** `heddle serve`, `heddle keys` and `heddle workspaces`: the HTTP API and its callers. */
export function declareServe(program: Command, io: Io, setExitCode: SetExitCode): void {
  const serveCommand = program
    .command('serve')
    .summary('Serve the HTTP API.')
    .description(
      'Serves the HTTP API and executes its runs until SIGTERM or Ctrl-C. Then it accepts no more requests and lets ' +
        'running blocks finish. Open runs continue at the next start, or with --postgres in the other processes of the ' +
        'same database. The first start creates a workspace and a key, which is shown only once.',
    );
  withOptions(serveCommand, [
    new Option('--port <number>', 'port to listen on; 0 for any free port')
      .default(7373)
      .argParser(parsePort),
    new Option('--host <address>', 'address to listen on').default('127.0.0.1'),
    new Option('--origin <url>', 'base URL in responses (default: the address it listens on)'),
    ...groupedOptions('env', 'compat', 'models', 'services', 'egress', 'isolation', 'resultLimit'),
    ...groupedOptions('data', 'postgres', 'runtime', 'temporalServer'),
    graceOption(),
    ...retentionOptions().map((option) => option.helpGroup('Retention:')),
    ...limitOptions(),
    repeatableOption(
      '--mcp-server <name=workflows>',
      'offer workflows (ids, separated by commas) as MCP tools at /api/mcp/serve/NAME (repeatable)',
    ),
    ...tokenOptions().map((option) => option.helpGroup('Access tokens:')),
    new Option('--no-studio', 'serve only the HTTP API, without the pages of the Studio'),
    new Option('--json', 'print one line of JSON when it is ready').default(false),
  ]).action(async (options) => {
    const { serve } = await import('./commands/serve.ts');
    setExitCode(await serve(io, options));
  });
  declareKeys(program, io, setExitCode);
  declareWorkspaces(program, io, setExitCode);
}

function declareWorkspaces(program: Command, io: Io, setExitCode: SetExitCode): void {
  const workspaces = program
    .command('workspaces')
    .summary('List workspaces and change their settings.')
    .description('Manages the workspaces of the HTTP API, even while heddle serve runs.');
  withStoreOptions(workspaces.command('list').description('Lists workspaces, oldest first.')).action(
    async (options) => {
      const { listWorkspaces } = await import('./commands/keys.ts');
      setExitCode(await listWorkspaces(io, options));
    },
  );
  const setCommand = workspaces
    .command('set')
    .description('Changes the settings of a workspace immediately.')
    .argument('<workspace>', 'id of the workspace, or an unambiguous prefix of it')
    .addOption(
      new Option('--personal-keys <state>', 'accept personal keys in the workspace, or only its own keys')
        .choices(['on', 'off'] as const)
        .makeOptionMandatory(),
    );
  withStoreOptions(setCommand).action(async (workspace: string, options) => {
    const { setWorkspace } = await import('./commands/keys.ts');
    setExitCode(await setWorkspace(io, workspace, options));
  });
}

function retentionOptions(): Option[] {
  return [
    new Option('--keep-public-runs <days>', 'how many days to keep ended runs of callers without a key')
      .default(30)
      .argParser(parseDays),
    new Option('--keep-runs <days>', 'how many days to keep ended runs (default: forever)').argParser(
      parseDays,
    ),
    new Option(
      '--keep-runs-mib <number>',
      'delete the oldest ended runs when all runs together take more than this many MiB (default: no limit)',
    ).argParser(parseMebibytes),
    new Option('--keep-receipts <days>', 'how many days to keep receipts of imports')
      .default(30)
      .argParser(parseDays),
  ];
}

function limitOptions(): [Option, Option] {
  return [
    new Option(
      '--limits <file>',
      'JSON file with limits of requests and runs (default: if other machines can reach --host, those of the enterprise plan in docs/limits.md, else none)',
    ),
    new Option(
      '--proxies <number>',
      'number of proxies in front of the server that add the client address to X-Forwarded-For',
    )
      .default(0)
      .argParser(parseProxyCount),
  ];
}

function tokenOptions(): Option[] {
  return [
    new Option('--oauth-issuer <url>', 'accept access tokens of this issuer'),
    new Option('--oauth-audience <text>', 'audience of the tokens for this server'),
    new Option('--oauth-jwks <url>', 'verify signed tokens (JWT) with the keys at this URL'),
    new Option(
      '--oauth-introspection <url>',
      'check other tokens at this URL, with the client HEDDLE_OAUTH_CLIENT_ID and HEDDLE_OAUTH_CLIENT_SECRET',
    ),
    new Option(
      '--oauth-user <claim>',
      'claim that identifies the user: sub (an id) or email (a verified address)',
    )
      .choices(['sub', 'email'])
      .default('email'),
  ];
}

function declareKeys(program: Command, io: Io, setExitCode: SetExitCode): void {
  const keys = program
    .command('keys')
    .summary('Create, list and revoke API keys.')
    .description(
      'Manages keys of the HTTP API, even while heddle serve runs. <key> is the id of a key or an unambiguous prefix of it.',
    );
  const createCommand = keys
    .command('create')
    .description('Creates a key and prints it. It is shown only once.');
  createCommand.addOption(new Option('--name <text>', 'name of the key').default('key'));
  createCommand.addOption(
    new Option(
      '--workspace [id]',
      'create a key of this workspace, or of the only one (default: a personal key of the first user)',
    ),
  );
  withStoreOptions(createCommand).action(async (options) => {
    const { createKey } = await import('./commands/keys.ts');
    setExitCode(await createKey(io, options));
  });
  withStoreOptions(keys.command('list').description('Lists keys, including revoked ones.')).action(
    async (options) => {
      const { listKeys } = await import('./commands/keys.ts');
      setExitCode(await listKeys(io, options));
    },
  );
  const revokeCommand = keys
    .command('revoke')
    .description('Revokes a key immediately.')
    .argument('<key>', 'id of the key');
  withStoreOptions(revokeCommand).action(async (key: string, options) => {
    const { revokeKey } = await import('./commands/keys.ts');
    setExitCode(await revokeKey(io, key, options));
  });
}

function parseDays(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= 1 && number <= MAX_DAYS) return number;
  throw new InvalidArgumentError(`Use a number of days from 1 to ${MAX_DAYS}.`);
}

/** 64 PiB. */
const MAX_MIB = 2 ** 36;

function parseMebibytes(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= 1 && number <= MAX_MIB) return number;
  throw new InvalidArgumentError(`Use a number from 1 to ${MAX_MIB}.`);
}

/** A larger number is probably a mistake. */
const MAX_PROXIES = 10;

function parseProxyCount(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isInteger(number) && number >= 0 && number <= MAX_PROXIES) return number;
  throw new InvalidArgumentError(`Use a whole number from 0 to ${MAX_PROXIES}.`);
}

function parsePort(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isInteger(number) && number >= 0 && number < 65_536) return number;
  throw new InvalidArgumentError('Use a whole number from 0 to 65535.');
}

/** `heddle deploy` and `heddle execute`: clients of a server's HTTP API. */
export function declareDeployAndExecute(program: Command, io: Io, setExitCode: SetExitCode): void {
  const deployCommand = program
    .command('deploy')
    .summary('Deploy a workflow to a server.')
    .description(
      'Deploys a workflow to a server (heddle serve) and prints the URL that executes it. If a workflow of this name ' +
        'exists, it gets a new version. Set HEDDLE_API_KEY to a personal key.',
    )
    .argument('<file>', 'workflow file (JSON); - for standard input');
  withOptions(deployCommand, [
    new Option('--name <name>', 'name of the workflow on the server (default: the name in the file)'),
    ...runOptions('bindings'),
    ...serverOptions(),
    new Option('--compat', `for a server that runs with --compat: ${COMPAT_EFFECT}`).default(false),
    jsonDataOption('deployment'),
  ]).action(async (file: string, options) => {
    const { deploy } = await import('./commands/deploy.ts');
    setExitCode(await deploy(io, file, options));
  });
  const executeCommand = program
    .command('execute')
    .summary('Execute a deployed workflow on a server.')
    .description(
      'Executes a deployed workflow on a server and prints its output. Exit codes are those of heddle run. Set ' +
        'HEDDLE_API_KEY to a key of the server.',
    )
    .argument('<workflow>', 'name or id of the workflow');
  withOptions(executeCommand, [
    ...runOptions('input'),
    ...serverOptions(),
    new Option('--async', 'print the id of the run and do not wait for its end').default(false),
    ...runOptions('select'),
    jsonDataOption('run'),
  ]).action(async (workflow: string, options) => {
    const { execute } = await import('./commands/execute.ts');
    setExitCode(await execute(io, workflow, options));
  });
}

/** `heddle logs export`: a client of a server's HTTP API. */
export function declareLogs(program: Command, io: Io, setExitCode: SetExitCode): void {
  const logs = program
    .command('logs')
    .summary('Export the log of runs of a server.')
    .description('Reads the log of runs of a server.');
  const command = logs
    .command('export')
    .description(
      'Writes the runs of a workspace as CSV or as JSON, one run per line, newest first. All filters apply together. Set ' +
        'HEDDLE_API_KEY to a key of the server.',
    );
  withOptions(command, [
    new Option('--format <format>', 'format of the file; ndjson has all fields of the API')
      .choices(['csv', 'ndjson'])
      .default('csv'),
    new Option('--output <file>', 'file to write (default: standard output)'),
    ...logFilterOptions(),
    new Option('--spans', 'with the trace spans of each run (ndjson)').default(false),
    new Option('--outputs', 'with the output of each run (ndjson)').default(false),
    ...serverOptions(),
  ]).action(async (options) => {
    const { exportLogs } = await import('./commands/logs-export.ts');
    setExitCode(await exportLogs(io, options));
  });
}

function logFilterOptions(): Option[] {
  return [
    new Option('--workflow <ids>', 'ids of workflows, separated by commas'),
    new Option('--folder <paths>', 'folders of workflows with their subfolders, separated by commas'),
    new Option('--name <text>', 'part of the name of the workflow'),
    new Option(
      '--trigger <names>',
      'what started the run: api, manual, schedule, workflow …, separated by commas',
    ),
    new Option('--level <level>', 'only failed runs (error), or only other runs (info)').choices([
      'info',
      'error',
    ]),
    new Option(
      '--status <statuses>',
      'statuses, separated by commas (choices: completed, failed, cancelled, running, pending)',
    ),
    new Option('--from <time>', 'started at this time or later (2026-01-31T00:00:00Z)'),
    new Option('--to <time>', 'started at this time or earlier'),
    new Option('--run <id>', 'id of the run'),
    new Option('--min-duration <ms>', 'took at least this long, in milliseconds'),
    new Option('--max-duration <ms>', 'took at most this long, in milliseconds'),
    new Option('--min-cost <usd>', 'cost at least this much'),
    new Option('--max-cost <usd>', 'cost at most this much'),
    new Option('--model <name>', 'used this model'),
    new Option('--sort-by <field>', 'field by which the runs are sorted')
      .choices(['startedAt', 'durationMs', 'cost', 'status'])
      .default('startedAt'),
    new Option('--sort-order <order>', 'sort direction').choices(['asc', 'desc']).default('desc'),
  ];
}

/** Returns the options of commands that call a server. */
export function serverOptions(): Option[] {
  return [
    new Option('--url <url>', `URL of the server (default: HEDDLE_URL, or ${DEFAULT_URL})`),
    new Option('--workspace <id>', 'id of the workspace (default: HEDDLE_WORKSPACE)'),
  ];
}
