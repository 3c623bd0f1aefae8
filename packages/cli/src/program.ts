import { Command, Option } from 'commander';
import type { Argument, Help } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import type { Io } from './io.ts';
import { declareRemote } from './program-remote.ts';
import { declareRuns } from './program-runs.ts';
import { declareServe } from './program-serve.ts';
import { declareTemporal } from './program-temporal.ts';
import { declareSandbox } from './program-sandbox.ts';
import { runOptions, withOptions } from './run-options.ts';
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

Exit codes of run, runs resume, runs rerun and runs tail:
  0 completed   1 failed   2 invalid definition or usage   3 paused, a person is needed   4 cancelled`;

/**
 * The commands and their options. Actions load what they need when they are called, so that none pays for another;
 * `done` gets the exit code.
 */
export function buildProgram(io: Io, done: (exit: number) => void): Command {
  const program = new Command('heddle')
    .description('Checks, plans and runs workflows.')
    .version(packageJson.version, '-v, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show this help.')
    .helpCommand('help [command]', 'Show the help of a command.')
    .exitOverride()
    .configureHelp(helpStyle(io))
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(errorText(io, text)),
    })
    .addHelpText('after', EXAMPLES);
  declareCheck(program, io, done);
  declarePlan(program, io, done);
  declareRun(program, io, done);
  declareRuns(program, io, done);
  declareServe(program, io, done);
  declareRemote(program, io, done);
  declareTemporal(program, io, done);
  declareSandbox(program, io, done);
  everyCommand(program, (command) => {
    const usage = command.createHelp().commandUsage(command);
    command.showHelpAfterError(`usage: ${usage}\n(try "${fullName(command)} --help")`);
  });
  return program;
}

function declareCheck(program: Command, io: Io, done: (exit: number) => void): void {
  program
    .command('check')
    .summary('Check workflows and list everything that is wrong.')
    .description('Checks workflows without running them, and lists everything that is wrong, all at once.')
    .argument('<file...>', 'exported workflows (JSON); - is standard input')
    .option('--json', 'print {"diagnostics": […]} and nothing else', false)
    .addOption(compatOption())
    .action(async (files: string[], options: { json: boolean; compat: boolean }) => {
      const { check } = await import('./commands/check.ts');
      done(await check(io, files, options));
    });
}

function declarePlan(program: Command, io: Io, done: (exit: number) => void): void {
  program
    .command('plan')
    .summary('Show what a workflow is compiled to.')
    .description(
      'Shows what a workflow is compiled to: its start, its blocks in order, what it reads and needs.',
    )
    .argument('<file>', 'an exported workflow (JSON); - is standard input')
    .addOption(new Option('--mermaid', 'print a Mermaid flowchart').default(false).conflicts('json'))
    .option('--json', 'print {"data": plan}', false)
    .addOption(compatOption())
    .action(async (file: string, options: { json: boolean; mermaid: boolean; compat: boolean }) => {
      const { plan } = await import('./commands/plan.ts');
      done(await plan(io, file, options));
    });
}

function declareRun(program: Command, io: Io, done: (exit: number) => void): void {
  const command = program
    .command('run')
    .summary('Run a workflow and print its output.')
    .description(
      'Runs a workflow. Its output is printed on stdout, what happens meanwhile on stderr. It is recorded in ' +
        '--data, which processes share for runs on Temporal, or in --postgres.',
    )
    .argument('<file>', 'an exported workflow (JSON); - is standard input');
  withOptions(
    command,
    runOptions(
      'input',
      'env',
      'egress',
      'mocks',
      'workflows',
      'data',
      'compat',
      'json',
      'select',
      'timeout',
      'isolation',
      'resultLimit',
      'runtime',
      'server',
      'worker',
      'postgres',
    ),
  ).action(async (file: string, options) => {
    const { run } = await import('./commands/run.ts');
    done(await run(io, file, options));
  });
}

function compatOption(): Option {
  return runOptions('compat')[0] as Option;
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}

function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
}

function helpStyle(io: Io): Partial<Help> & { helpWidth: number } {
  const style = styleFor(io.stdout);
  return {
    helpWidth: Math.min(io.stdout.columns ?? 100, 110),
    styleTitle: (text) => style.bold(text),
    styleCommandText: (text) => style.cyan(text),
    styleSubcommandText: (text) => style.cyan(text),
    styleOptionText: (text) => style.cyan(text),
    styleArgumentText: (text) => style.cyan(text),
    // Defaults that say no more than "nothing" are noise.
    optionDescription: ({ description, defaultValue }) =>
      typeof defaultValue === 'string' || typeof defaultValue === 'number'
        ? `${description} (default ${defaultValue})`
        : description,
    subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' '),
  };
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
      : `"${file}" is no command. To run it: heddle run ${file}\n`;
  return `${styleFor(io.stderr).red('heddle:')} ${message}`;
}
