import { shortId } from '../run-id.ts';
import { shellQuote } from './format.ts';

/** The folder that commands use when none is named. */
export const DEFAULT_DATA = './.heddle';

/** What a command that is shown to be copied needs beside its own words. */
export interface CommandContext {
  runId: string;
  data: string;
  /** Names of the environment values the run uses, as options to repeat: `--env-file .env`, `--env NAME`. */
  envOptions?: readonly string[];
}

/** A command line on a run, ready to be copied into a shell. */
export function runsCommand(verb: string, context: CommandContext, ...more: readonly string[]): string {
  const data = context.data === DEFAULT_DATA ? [] : ['--data', context.data];
  const words = ['heddle', 'runs', verb, shortId(context.runId), ...more, ...data];
  return words.map(shellQuote).join(' ');
}
