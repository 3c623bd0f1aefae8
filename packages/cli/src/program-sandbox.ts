import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';
import { repeatable, runOptions, seconds, withOptions } from './run-options.ts';

type Done = (exit: number) => void;

const LEVELS = ['basic', 'standard', 'strict'];

/** `heddle sandbox …`: where code runs. */
export function declareSandbox(program: Command, io: Io, done: Done): void {
  const sandbox = program
    .command('sandbox')
    .summary('Run code in the sandbox, build what it needs, look at the sandbox itself.')
    .description('The sandbox that runs the code of function blocks, and the images of packages for it.');
  declareBuild(sandbox, io, done);
  declareList(sandbox, io, done);
  declareRun(sandbox, io, done);
  declareDoctor(sandbox, io, done);
}

function declareBuild(sandbox: Command, io: Io, done: Done): void {
  const command = sandbox
    .command('build')
    .summary('Build an image of packages.')
    .description(
      'Builds an image of packages from a spec, such as {"language": "javascript", "dependencies": ["zod@^4"]}. ' +
        'Equal specs are one image. Exits with 0 where it is ready, with 1 where the build failed.',
    )
    .argument('<file>', 'a spec (JSON)');
  withOptions(command, [
    new Option('--refresh', 'resolve ranges anew, though there is an image').default(false),
    new Option('--timeout <seconds>', 'how long it may take: else 900').argParser(seconds),
    repeatable(
      '--checksum <tool=sha256>',
      'of the file of a command-line tool that you vouch for, as its publisher gives it (repeatable)',
    ),
    ...runOptions('images', 'isolation', 'bubblewrap'),
    new Option('--json', 'print {"data": image} and no progress').default(false),
  ]).action(async (file: string, options) => {
    const { build } = await import('./sandbox/build.ts');
    done(await build(io, file, options));
  });
}

function declareList(sandbox: Command, io: Io, done: Done): void {
  const command = sandbox
    .command('list')
    .summary('List the images.')
    .description('Lists the images: what they have, and how their builds stand.');
  withOptions(command, [
    ...runOptions('images'),
    new Option('--json', 'print {"data": [image, …]} and nothing else').default(false),
  ]).action(async (options) => {
    const { list } = await import('./sandbox/list.ts');
    done(await list(io, options));
  });
}

function declareRun(sandbox: Command, io: Io, done: Done): void {
  const command = sandbox
    .command('run')
    .summary('Run a file in the sandbox.')
    .description(
      'Runs a file in the sandbox, as the body of a function block, and prints the value that it returns. ' +
        'The input is the global `input`. Exits with 0 where there is a value, with 1 where the code failed.',
    )
    .argument('<file>', 'code that ends in .js, .py or .sh');
  withOptions(command, [
    new Option('--image <file|id>', 'the image to run with: a spec, which is built first, or a name or id'),
    ...runOptions('input'),
    new Option('--timeout <ms>', 'how long the code may take, in milliseconds'),
    ...runOptions('egress', 'images', 'isolation', 'bubblewrap'),
    new Option(
      '--json',
      'print {"ok": …, "value": … or "error": …, "logs": […], "durationMs": …}, whatever happens',
    ).default(false),
  ]).action(async (file: string, options) => {
    const { run } = await import('./sandbox/run.ts');
    done(await run(io, file, options));
  });
}

function declareDoctor(sandbox: Command, io: Io, done: Done): void {
  const command = sandbox
    .command('doctor')
    .summary('Show how far this host confines code, and what is missing.')
    .description(
      'Shows how far this host confines code: each check with its result and what to do, versions, and limits. ' +
        'Processes are really started that try to break out. Exits with 0 where the minimum is met, else with 1.',
    );
  withOptions(command, [
    new Option('--minimum <level>', 'the level that has to be reached').choices(LEVELS).default('standard'),
    ...runOptions('bubblewrap'),
    new Option('--json', 'print {"data": report} and nothing else').default(false),
  ]).action(async (options) => {
    const { doctor } = await import('./sandbox/doctor.ts');
    done(await doctor(io, options));
  });
}
