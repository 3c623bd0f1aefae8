import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';
import { runOptions, withOptions } from './run-options.ts';

type Done = (exit: number) => void;

const STATUSES = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'];

/** Options of commands that move a run, which have to know where it runs. */
const ON_TEMPORAL = ['runtime', 'server', 'postgres'] as const;

/** `heddle runs …`: what a data folder holds. RUN may be the beginning of an id. */
export function declareRuns(program: Command, io: Io, done: Done): void {
  const runs = program
    .command('runs')
    .summary('List, show, follow, cancel, resume and rerun runs.')
    .description('Runs of a data folder. RUN is the id of a run, or the beginning of one.');
  declareList(runs, io, done);
  declareShow(runs, io, done);
  declareTail(runs, io, done);
  declareCancel(runs, io, done);
  declareResume(runs, io, done);
  declareRerun(runs, io, done);
}

function declareList(runs: Command, io: Io, done: Done): void {
  withOptions(runs.command('list').description('Lists runs, newest first.'), [
    statusOption(),
    new Option('--workflow <id>', 'only runs of the workflow with this id'),
    new Option('--limit <count>', 'at most this many').default(20).argParser(count),
    new Option('--cursor <cursor>', 'go on after an earlier list'),
    new Option('--json', 'print {"data": [run], "nextCursor"}').default(false),
    ...runOptions('data', 'postgres'),
  ]).action(async (options) => {
    const { listRuns } = await import('./commands/runs-list.ts');
    done(await listRuns(io, options));
  });
}

function declareShow(runs: Command, io: Io, done: Done): void {
  const command = runs
    .command('show')
    .description('Shows a run: how it stands, what its blocks did, its output.');
  withOptions(command.argument('<run>', 'a run'), [
    new Option('--json', 'print {"data": run} with its logs').default(false),
    ...runOptions('data', 'postgres'),
  ]).action(async (run: string, options) => {
    const { showRun } = await import('./commands/runs-show.ts');
    done(await showRun(io, run, options));
  });
}

function declareTail(runs: Command, io: Io, done: Done): void {
  const command = runs
    .command('tail')
    .description('Follows a run from its beginning until it ends or a person is needed.');
  withOptions(command.argument('<run>', 'a run'), [
    new Option('--json', 'print {"data": run} at the end, and no progress').default(false),
    ...runOptions('data', 'postgres'),
  ]).action(async (run: string, options) => {
    const { tailRun } = await import('./commands/runs-tail.ts');
    done(await tailRun(io, run, options));
  });
}

function declareCancel(runs: Command, io: Io, done: Done): void {
  const command = runs.command('cancel').description('Cancels a run, also one that another process runs.');
  withOptions(command.argument('<run>', 'a run'), [
    new Option('--reason <text>', 'why, for the record'),
    ...runOptions('data', 'json', ...ON_TEMPORAL),
  ]).action(async (run: string, options) => {
    const { cancelRun } = await import('./commands/runs-cancel.ts');
    done(await cancelRun(io, run, options));
  });
}

function declareResume(runs: Command, io: Io, done: Done): void {
  const command = runs
    .command('resume')
    .description(
      'Answers a pause, or goes on with a run whose process has died: with this one only. The other open runs of the ' +
        'folder go on when they are resumed themselves, or at the start of heddle serve.',
    );
  withOptions(command.argument('<run>', 'a run'), [
    new Option('--point <id>', 'the pause to answer, when several are open'),
    ...runOptions('input', 'env', 'egress', 'data', 'json', 'select', 'isolation', 'resultLimit'),
    ...runOptions(...ON_TEMPORAL, 'worker'),
  ]).action(async (run: string, options) => {
    const { resumeRun } = await import('./commands/runs-resume.ts');
    done(await resumeRun(io, run, options));
  });
}

function declareRerun(runs: Command, io: Io, done: Done): void {
  const command = runs
    .command('rerun')
    .description('Starts a new run at a block, with what the blocks before it gave in an earlier run.')
    .argument('<run>', 'the earlier run')
    .argument('[file]', 'a changed workflow, - for standard input; without it the plan of the earlier run');
  withOptions(command, [
    new Option('--from <block>', 'name or id of the block to start at').makeOptionMandatory(),
    ...runOptions('input', 'env', 'egress', 'mocks', 'workflows', 'data', 'compat', 'json', 'select'),
    ...runOptions('timeout', 'isolation', 'resultLimit', ...ON_TEMPORAL, 'worker'),
  ]).action(async (run: string, file: string | undefined, options) => {
    const { rerun } = await import('./commands/runs-rerun.ts');
    done(await rerun(io, { run, file }, options));
  });
}

function statusOption(): Option {
  return new Option(
    '--status <status>',
    `only runs of this status, several with commas (${STATUSES.join(', ')})`,
  )
    .default([])
    .argParser((text: string) => {
      const statuses = text.split(',').map((status) => status.trim());
      const unknown = statuses.find((status) => !STATUSES.includes(status));
      if (unknown !== undefined)
        throw new InvalidArgumentError(`"${unknown}" is none of ${STATUSES.join(', ')}.`);
      return statuses;
    });
}

function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('It is a whole number above 0.');
}
