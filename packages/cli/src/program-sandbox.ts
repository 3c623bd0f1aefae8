import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import {
  jsonDataOption,
  repeatableOption,
  runOptions,
  parseSecondsAsMs,
  withOptions,
} from './run-options.ts';

const ISOLATION_LEVELS = ['basic', 'standard', 'strict'];

/** `heddle sandbox …`: runs code and builds images. */
export function declareSandbox(program: Command, io: Io, setExitCode: SetExitCode): void {
  const sandbox = program
    .command('sandbox')
    .summary('Run code in the sandbox, build images, check the isolation.')
    .description(
      'Runs code in the sandbox of function blocks, builds package images, and checks how well this host isolates code.',
    );
  declareBuild(sandbox, io, setExitCode);
  declareList(sandbox, io, setExitCode);
  declareLog(sandbox, io, setExitCode);
  declareRun(sandbox, io, setExitCode);
  declareDoctor(sandbox, io, setExitCode);
}

function declareBuild(sandbox: Command, io: Io, setExitCode: SetExitCode): void {
  const command = sandbox
    .command('build')
    .summary('Build an image of packages.')
    .description(
      'Builds an image of packages from a specification, such as {"language": "javascript", "dependencies": ' +
        '["zod@^4"]}. Identical specifications share one image. Exits with 0 if the image is ready, with 1 if the ' +
        'build failed.',
    )
    .argument('<file>', 'specification (JSON)');
  withOptions(command, [
    new Option('--refresh', 'resolve version ranges again, even if the image exists').default(false),
    new Option('--timeout <seconds>', 'time limit of the build, in seconds')
      .argParser(parseSecondsAsMs)
      .default(undefined, '900'),
    repeatableOption(
      '--checksum <tool=sha256>',
      'trusted checksum of a command-line tool, as published by its vendor (repeatable)',
    ),
    ...runOptions('images', 'isolation', 'bubblewrap'),
    jsonDataOption('image'),
  ]).action(async (file: string, options) => {
    const { build } = await import('./sandbox/images.ts');
    setExitCode(await build(io, file, options));
  });
}

function declareList(sandbox: Command, io: Io, setExitCode: SetExitCode): void {
  const command = sandbox
    .command('list')
    .summary('List the images.')
    .description('Lists the images with their packages and the state of their builds.');
  withOptions(command, [...runOptions('images'), jsonDataOption('[image, …]')]).action(async (options) => {
    const { list } = await import('./sandbox/images.ts');
    setExitCode(await list(io, options));
  });
}

function declareLog(sandbox: Command, io: Io, setExitCode: SetExitCode): void {
  const command = sandbox
    .command('log')
    .summary('Print the log of a build.')
    .description(
      'Prints the whole log of the last build of an image, even if it failed, without tokens. ' +
        'Exits with 0, or with 1 if no log is stored, because no build has ended yet.',
    )
    .argument('<id>', 'name or id of an image, or id of a sandbox of a workspace');
  withOptions(command, [
    new Option('--images <dir>', 'folder that stores images (default: images in the data folder)'),
    ...runOptions('data', 'postgres'),
    jsonDataOption('{"id": …, "log": …}'),
  ]).action(async (id: string, options) => {
    const { log } = await import('./sandbox/log.ts');
    setExitCode(await log(io, id, options));
  });
}

function declareRun(sandbox: Command, io: Io, setExitCode: SetExitCode): void {
  const command = sandbox
    .command('run')
    .summary('Run a file in the sandbox.')
    .description(
      'Runs a file in the sandbox as the body of a function block and prints the value that it returns. ' +
        'The input is the global `input`. Exits with 0, or with 1 if the code failed.',
    )
    .argument('<file>', 'code: a .js, .py or .sh file');
  withOptions(command, [
    new Option(
      '--image <file|id>',
      'image to run with: its name or id, or a specification file, which is built first',
    ),
    ...runOptions('input'),
    new Option('--timeout <ms>', 'time limit of the code, in milliseconds'),
    ...runOptions('egress', 'images', 'isolation', 'bubblewrap'),
    new Option(
      '--json',
      'print only JSON: {"ok": …, "value": … or "error": …, "logs": […], "durationMs": …}',
    ).default(false),
  ]).action(async (file: string, options) => {
    const { run } = await import('./sandbox/run.ts');
    setExitCode(await run(io, file, options));
  });
}

function declareDoctor(sandbox: Command, io: Io, setExitCode: SetExitCode): void {
  const command = sandbox
    .command('doctor')
    .summary('Check how well this host isolates code.')
    .description(
      'Checks how well this host isolates code: each check with its result and hint, versions, and limits. The checks ' +
        'start real processes that try to break out. Exits with 0 if the minimum is met, else with 1.',
    );
  withOptions(command, [
    new Option('--minimum <level>', 'required level').choices(ISOLATION_LEVELS).default('standard'),
    ...runOptions('bubblewrap'),
    jsonDataOption('report'),
  ]).action(async (options) => {
    const { doctor } = await import('./sandbox/doctor.ts');
    setExitCode(await doctor(io, options));
  });
}
