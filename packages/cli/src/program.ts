import { Command, Option } from 'commander';
import type { Argument, Help } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import type { Io, SetExitCode } from './io.ts';
import { declareRuns } from './program-runs.ts';
import { declareLogs, declareDeployAndExecute, declareServe } from './program-serve.ts';
import { declareCredentials } from './program-credentials.ts';
import { declareSchedules } from './program-schedules.ts';
import { declareSkills } from './program-skills.ts';
import { declareTriggers } from './program-triggers.ts';
import { declareWebhooks } from './program-webhooks.ts';
import { declareSecrets } from './program-secrets.ts';
import { declareTemporal } from './program-temporal.ts';
import { declareTools } from './program-tools.ts';
import { declareSandbox } from './program-sandbox.ts';
import { groupedOptions, NEW_RUN_OPTION_GROUPS, runOptions, withOptions } from './run-options.ts';
import { styleFor } from './render/style.ts';

const EXAMPLES = `
Examples:
  heddle check workflows/*.json
  heddle run order.json --input '{"orderId": "A-17"}'
  heddle run support.json --mock agent='{"content": "Hello!"}' --dotenv .env
  heddle runs list --status paused
  heddle deploy order.json && heddle execute order --input '{"orderId": "A-17"}'
  heddle run order.json --runtime temporal --address 127.0.0.1:7233
  heddle sandbox run report.py --image spec.json --input '{"rows": []}'

Exit codes of run, runs resume, runs rerun, runs tail and execute:
  0 completed   1 failed   2 invalid workflow or usage   3 paused, waits for a person   4 cancelled`;

/**
 * Builds the commands and their options. An action imports its command when it is called, so that commands start fast.
 * `setExitCode` is called with the exit code.
 */
export function buildProgram(io: Io, setExitCode: SetExitCode): Command {
  const program = new Command('heddle')
    .description('Checks, runs and deploys workflows.')
    .version(packageJson.version, '-v, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show this help.')
    .commandsGroup('Help:')
    .helpCommand('help [command]', 'Show help for a command.')
    .exitOverride()
    .configureHelp(helpConfiguration(io))
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(errorText(io, text)),
    })
    .addHelpText('after', EXAMPLES);
  program.commandsGroup('Local:');
  declareCheck(program, io, setExitCode);
  declarePlan(program, io, setExitCode);
  declareRun(program, io, setExitCode);
  declareRuns(program, io, setExitCode);
  declareBlocks(program, io, setExitCode);
  declareTools(program, io, setExitCode);
  declareSandbox(program, io, setExitCode);
  program.commandsGroup('Server and its stored data:');
  declareServe(program, io, setExitCode);
  declareSecrets(program, io, setExitCode);
  declareCredentials(program, io, setExitCode);
  declareSkills(program, io, setExitCode);
  program.commandsGroup('Clients of a server:');
  declareDeployAndExecute(program, io, setExitCode);
  declareLogs(program, io, setExitCode);
  declareSchedules(program, io, setExitCode);
  declareWebhooks(program, io, setExitCode);
  declareTriggers(program, io, setExitCode);
  program.commandsGroup('Temporal:');
  declareTemporal(program, io, setExitCode);
  forEachCommand(program, (command) => {
    const usage = command.createHelp().commandUsage(command);
    command.showHelpAfterError(`usage: ${usage}\n(try "${fullName(command)} --help")`);
  });
  return program;
}

function declareCheck(program: Command, io: Io, setExitCode: SetExitCode): void {
  const command = program
    .command('check')
    .summary('Check workflows and list all problems.')
    .description(
      'Checks workflows without running them and lists all problems. Exits with 2 if a workflow cannot run.',
    )
    .argument('<file...>', 'workflow files (JSON); - for standard input')
    .option('--json', 'print only JSON: {"diagnostics": […]}', false)
    .addOption(compatOption());
  withOptions(command, runOptions('bindings')).action(async (files: string[], options) => {
    const { check } = await import('./commands/check.ts');
    setExitCode(await check(io, files, options));
  });
}

function declarePlan(program: Command, io: Io, setExitCode: SetExitCode): void {
  const command = program
    .command('plan')
    .summary('Show the execution plan of a workflow.')
    .description(
      'Shows the execution plan of a workflow: its start, the values that it needs, and its blocks in order.',
    )
    .argument('<file>', 'workflow file (JSON); - for standard input')
    .addOption(new Option('--mermaid', 'print a Mermaid flowchart').default(false).conflicts('json'))
    .option('--json', 'print only JSON: {"data": plan}', false)
    .addOption(compatOption());
  withOptions(command, runOptions('bindings')).action(async (file: string, options) => {
    const { plan } = await import('./commands/plan.ts');
    setExitCode(await plan(io, file, options));
  });
}

function declareRun(program: Command, io: Io, setExitCode: SetExitCode): void {
  const command = program
    .command('run')
    .summary('Run a workflow and print its output.')
    .description(
      'Runs a workflow. Prints its output to stdout and its progress to stderr. The run is recorded in the data ' +
        'folder (--data) or in a database (--postgres).',
    )
    .argument('<file>', 'workflow file (JSON); - for standard input');
  withOptions(command, groupedOptions(...NEW_RUN_OPTION_GROUPS)).action(async (file: string, options) => {
    const { run } = await import('./commands/run.ts');
    setExitCode(await run(io, file, options));
  });
}

function declareBlocks(program: Command, io: Io, setExitCode: SetExitCode): void {
  const blocks = program
    .command('blocks')
    .summary('List block types and show their fields.')
    .description('Describes the block types that this version runs.');
  blocks
    .command('list')
    .description('Lists the block types.')
    .option('--json', 'print only JSON: {"data": [type]}', false)
    .action(async (options: { json: boolean }) => {
      const { listBlocks } = await import('./commands/blocks.ts');
      setExitCode(await listBlocks(io, options));
    });
  blocks
    .command('show')
    .description('Shows the fields and the output of a block type.')
    .argument('<type>', 'block type, such as agent')
    .addOption(
      new Option('--json-schema', 'print only the JSON Schema of the fields')
        .default(false)
        .conflicts('json'),
    )
    .option('--json', 'print only JSON: {"data": type}, with the JSON Schemas of fields and output', false)
    .action(async (type: string, options: { json: boolean; jsonSchema: boolean }) => {
      const { showBlock } = await import('./commands/blocks.ts');
      setExitCode(await showBlock(io, type, options));
    });
}

function compatOption(): Option {
  return runOptions('compat')[0] as Option;
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
}

function helpConfiguration(io: Io): Partial<Help> & { helpWidth: number } {
  const style = styleFor(io.stdout);
  return {
    helpWidth: Math.min(io.stdout.columns ?? 100, 110),
    styleTitle: (text) => style.bold(text),
    styleCommandText: (text) => style.cyan(text),
    styleSubcommandText: (text) => style.cyan(text),
    styleOptionText: (text) => style.cyan(text),
    styleArgumentText: (text) => style.cyan(text),
    optionDescription,
    subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' '),
  };
}

/** Returns the help text of an option with its choices and its default. A boolean or list is not shown as a default. */
function optionDescription(option: Option): string {
  const { description, argChoices, defaultValue, defaultValueDescription } = option;
  const hasShownDefault = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  const defaultText = defaultValueDescription ?? (hasShownDefault ? String(defaultValue) : undefined);
  const notes = [
    ...(argChoices === undefined ? [] : [`choices: ${argChoices.join(', ')}`]),
    ...(defaultText === undefined ? [] : [`default: ${defaultText}`]),
  ];
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
}

function argumentTerm(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function errorText(io: Io, text: string): string {
  const file = /^error: unknown command '(.*\.json)'/.exec(text)?.[1];
  const message =
    file === undefined
      ? text.replace(/^error: /, '')
      : `"${file}" is not a command. To run the file: heddle run ${file}\n`;
  return `${styleFor(io.stderr).red('heddle:')} ${message}`;
}
