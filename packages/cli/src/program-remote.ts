import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';
import { DEFAULT_URL } from './remote-options.ts';
import { runOptions, withOptions } from './run-options.ts';

type Done = (exit: number) => void;

/** `heddle deploy` and `heddle execute`: calls of a server that serves the HTTP interface. */
export function declareRemote(program: Command, io: Io, done: Done): void {
  const deploy = program
    .command('deploy')
    .summary('Make a workflow live on a server.')
    .description(
      'Makes a workflow live on a server (heddle serve), and prints the address that runs it: a new workflow, or the next ' +
        'version of the one with its name. HEDDLE_API_KEY is the key of a person.',
    )
    .argument('<file>', 'an exported workflow (JSON); - is standard input');
  withOptions(deploy, [
    new Option('--name <name>', 'name of the workflow on the server: else the one that the file has'),
    ...server(),
    ...runOptions('compat'),
    new Option('--json', 'print {"data": deployment} and nothing else').default(false),
  ]).action(async (file: string, options) => {
    const { deploy: run } = await import('./commands/deploy.ts');
    done(await run(io, file, options));
  });
  const execute = program
    .command('execute')
    .summary('Run a workflow that is live on a server.')
    .description(
      'Runs a workflow that is live on a server, and prints its output. Exit codes are those of heddle run. HEDDLE_API_KEY is ' +
        'a key of the server.',
    )
    .argument('<workflow>', 'its name, or its id');
  withOptions(execute, [
    ...runOptions('input'),
    ...server(),
    new Option('--async', 'print the id of the run, and do not wait for its end').default(false),
    ...runOptions('select'),
    new Option('--json', 'print {"data": run} and nothing else').default(false),
  ]).action(async (workflow: string, options) => {
    const { execute: run } = await import('./commands/execute.ts');
    done(await run(io, workflow, options));
  });
}

function server(): Option[] {
  return [
    new Option('--url <url>', `the server: else HEDDLE_URL, else ${DEFAULT_URL}`),
    new Option('--workspace <id>', 'workspace of the workflow: else HEDDLE_WORKSPACE'),
  ];
}
