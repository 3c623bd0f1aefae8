import { DEFAULT_DATA } from '../place.ts';
import type { PlaceOptions, StoreOptions } from '../place.ts';
import { shortId } from '../run-id.ts';
import { shellQuote } from './format.ts';

/** What a command that is shown to be copied needs beside its own words. */
export interface CommandContext extends PlaceOptions {
  runId: string;
  /** Options that its blocks need again: `--dotenv .env`, `--env NAME`, `--allow-host HOST`. */
  blockWords?: readonly string[];
}

/** A command line on a run, ready to be copied into a shell. */
export function runsCommand(verb: string, context: CommandContext, ...more: readonly string[]): string {
  const where = MOVING.has(verb) ? runtimeWords(context) : [];
  const words = ['heddle', 'runs', verb, shortId(context.runId), ...more, ...where, ...storeWords(context)];
  return words.map(shellQuote).join(' ');
}

/** Verbs that make a run move, and have to know where it runs. */
const MOVING = new Set(['resume', 'rerun']);

/** Options that name where runs are recorded. A database's URL may hold a password, and is left to be filled in. */
function storeWords({ data, postgres }: StoreOptions): string[] {
  if (postgres !== undefined) return ['--postgres', 'URL'];
  return data === DEFAULT_DATA ? [] : ['--data', data];
}

/** Options that name where runs run; what comes from the environment is left to it. */
export function runtimeWords(options: PlaceOptions): string[] {
  const { runtime, address, namespace, queue, worker, postgres } = options;
  // A command that only reads a database was told of no runtime, and is told here how to say which.
  if (runtime === 'local' || (runtime === undefined && postgres === undefined)) return [];
  return [
    '--runtime',
    'temporal',
    ...(address === undefined ? [] : ['--address', address]),
    ...(namespace === undefined ? [] : ['--namespace', namespace]),
    ...(queue === undefined ? [] : ['--queue', queue]),
    ...(worker === false ? ['--no-worker'] : []),
  ];
}
