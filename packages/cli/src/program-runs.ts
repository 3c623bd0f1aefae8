import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import {
  parseCount,
  groupedOptions,
  NEW_RUN_OPTION_GROUPS,
  repeatableOption,
  runOptions,
  withOptions,
} from './run-options.ts';

const STATUSES = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'];

/** Options of the commands that change a run: where it executes. */
const RUNTIME_OPTION_GROUPS = ['runtime', 'temporalServer', 'postgres'] as const;

/** `heddle runs …`: the runs of a data folder or database. */
export function declareRuns(program: Command, io: Io, setExitCode: SetExitCode): void {
  const runs = program
    .command('runs')
    .summary('List, show, follow, cancel, resume and rerun runs.')
    .description(
      'Lists, shows, follows, cancels, resumes and reruns the runs of a data folder or database. <run> is the id of a ' +
        'run, or an unambiguous beginning or end of the id.',
    );
  declareList(runs, io, setExitCode);
  declareShow(runs, io, setExitCode);
  declareTail(runs, io, setExitCode);
  declareCancel(runs, io, setExitCode);
  declareResume(runs, io, setExitCode);
  declareRerun(runs, io, setExitCode);
}

function declareList(runs: Command, io: Io, setExitCode: SetExitCode): void {
  withOptions(runs.command('list').description('Lists runs, newest first.'), [
    statusOption(),
    new Option('--workflow <id>', 'only runs of this workflow'),
    new Option('--limit <count>', 'maximum number of runs').default(20).argParser(parseCount),
    new Option('--cursor <cursor>', 'nextCursor of the previous page'),
    new Option('--json', 'print only JSON: {"data": [run], "nextCursor": …}').default(false),
    ...runOptions('data', 'postgres'),
  ]).action(async (options) => {
    const { listRuns } = await import('./commands/runs-list.ts');
    setExitCode(await listRuns(io, options));
  });
}

function declareShow(runs: Command, io: Io, setExitCode: SetExitCode): void {
  const command = runs.command('show').description('Shows a run: its status, its blocks and its output.');
  withOptions(command.argument('<run>', 'id of the run'), [
    new Option('--json', 'print only JSON: {"data": run} with its logs').default(false),
    ...runOptions('data', 'postgres'),
  ]).action(async (run: string, options) => {
    const { showRun } = await import('./commands/runs-show.ts');
    setExitCode(await showRun(io, run, options));
  });
}

function declareTail(runs: Command, io: Io, setExitCode: SetExitCode): void {
  const command = runs
    .command('tail')
    .description('Follows a run from its start until it ends or waits for a person.');
  withOptions(command.argument('<run>', 'id of the run'), [
    new Option('--json', 'print only JSON, at the end: {"data": run}').default(false),
    ...runOptions('stream', 'data', 'postgres'),
  ]).action(async (run: string, options) => {
    const { tailRun } = await import('./commands/runs-tail.ts');
    setExitCode(await tailRun(io, run, options));
  });
}

function declareCancel(runs: Command, io: Io, setExitCode: SetExitCode): void {
  const command = runs.command('cancel').description('Cancels a run, even one of another process.');
  withOptions(command.argument('<run>', 'id of the run'), [
    new Option('--reason <text>', 'reason, which is stored with the run'),
    ...runOptions('data', 'json', ...RUNTIME_OPTION_GROUPS),
  ]).action(async (run: string, options) => {
    const { cancelRun } = await import('./commands/runs-cancel.ts');
    setExitCode(await cancelRun(io, run, options));
  });
}

function declareResume(runs: Command, io: Io, setExitCode: SetExitCode): void {
  const command = runs
    .command('resume')
    .description(
      'Answers a paused run, or continues a run whose process died. Continues only this run; heddle serve continues ' +
        'all open runs of a data folder.',
    );
  withOptions(command.argument('<run>', 'id of the run'), [
    new Option('--point <id>', 'pause point to answer, if several are open'),
    new Option('--approve <calls>', 'approve calls of an agent: their ids, separated by commas, or all'),
    new Option('--deny <calls>', 'deny calls of an agent'),
    new Option('--reason <text>', 'why calls are denied, for the model'),
    repeatableOption('--edit <call=json>', 'make a call with these arguments instead (repeatable)'),
    ...groupedOptions('input', 'env', 'models', 'services', 'workspace', 'egress'),
    ...groupedOptions(
      'isolation',
      'resultLimit',
      'data',
      ...RUNTIME_OPTION_GROUPS,
      'worker',
      'json',
      'stream',
      'select',
    ),
  ]).action(async (run: string, options) => {
    const { resumeRun } = await import('./commands/runs-resume.ts');
    setExitCode(await resumeRun(io, run, options));
  });
}

function declareRerun(runs: Command, io: Io, setExitCode: SetExitCode): void {
  const command = runs
    .command('rerun')
    .description('Starts a new run at a block, with the outputs of the earlier blocks from an earlier run.')
    .argument('<run>', 'id of the earlier run')
    .argument('[file]', 'changed workflow, - for standard input (default: the workflow of the earlier run)');
  withOptions(command, [
    new Option('--from <block>', 'name or id of the first block').makeOptionMandatory(),
    new Option(
      '--iteration <numbers>',
      'indexes of the iterations and branches around the block, outermost first: 4,0',
    ).argParser(parseIterations),
    ...groupedOptions(...NEW_RUN_OPTION_GROUPS),
  ]).action(async (run: string, file: string | undefined, options) => {
    const { rerun } = await import('./commands/runs-rerun.ts');
    setExitCode(await rerun(io, { run, file }, options));
  });
}

function statusOption(): Option {
  return new Option(
    '--status <status>',
    `only runs with this status, or with one of several, separated by commas (choices: ${STATUSES.join(', ')})`,
  )
    .default([])
    .argParser((text: string) => {
      const statuses = text.split(',').map((status) => status.trim());
      const unknownStatus = statuses.find((status) => !STATUSES.includes(status));
      if (unknownStatus !== undefined)
        throw new InvalidArgumentError(`"${unknownStatus}" is not a status. Use ${STATUSES.join(', ')}.`);
      return statuses;
    });
}

function parseIterations(text: string): number[] {
  if (/^\d{1,9}(,\d{1,9})*$/.test(text)) return text.split(',').map(Number);
  throw new InvalidArgumentError('Use whole numbers from 0: 4,0.');
}
