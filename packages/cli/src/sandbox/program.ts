import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from '../io.ts';

type Done = (exit: number) => void;

const LEVELS = ['basic', 'standard', 'strict'];

/** `heddle sandbox …`: where code runs. */
export function declareSandbox(program: Command, io: Io, done: Done): void {
  const sandbox = program
    .command('sandbox')
    .summary('Look at the sandbox that runs code.')
    .description('The sandbox that runs the code of function blocks.');
  declareDoctor(sandbox, io, done);
}

function declareDoctor(sandbox: Command, io: Io, done: Done): void {
  const command = sandbox
    .command('doctor')
    .summary('Show how far this host confines code, and what is missing.')
    .description(
      'Shows how far this host confines code: each check with its result and what to do, versions, and limits. ' +
        'Processes are really started that try to break out. Exits with 0 where the minimum is met, else with 1.',
    );
  for (const option of [
    new Option('--minimum <level>', 'the level that has to be reached').choices(LEVELS).default('standard'),
    new Option('--bubblewrap <file>', 'bubblewrap, where it is not with the programs of the system'),
    new Option('--json', 'print {"data": report} and nothing else').default(false),
  ]) {
    command.addOption(option);
  }
  command.action(async (options) => {
    const { doctor } = await import('./doctor.ts');
    done(await doctor(io, options));
  });
}
