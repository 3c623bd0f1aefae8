import { DEFAULT_DATA_FOLDER } from '../store-options.ts';
import type { RuntimeOptions, StoreOptions } from '../store-options.ts';
import { shortId } from '../run-id.ts';
import { shellQuote } from './format.ts';

/** Context for the arguments of a suggested command. */
export interface CommandContext extends RuntimeOptions {
  runId: string;
  /** Arguments about blocks: `--dotenv .env`, `--env NAME`, `--allow-host HOST`. */
  blockArgs?: readonly string[];
}

/** Returns a command line for a run, ready to paste into a shell. */
export function runsCommand(verb: string, context: CommandContext, ...args: readonly string[]): string {
  const runtime = CONTINUING_VERBS.has(verb) ? runtimeArgs(context) : [];
  const words = ['heddle', 'runs', verb, shortId(context.runId), ...args, ...runtime, ...storeArgs(context)];
  return words.map(shellQuote).join(' ');
}

/** Verbs that continue a run, and need its runtime. */
const CONTINUING_VERBS = new Set(['resume', 'rerun']);

/** Returns the arguments for the store. The URL of a database may contain a password, so the user fills it in. */
function storeArgs({ data, postgres }: StoreOptions): string[] {
  if (postgres !== undefined) return ['--postgres', 'URL'];
  return data === DEFAULT_DATA_FOLDER ? [] : ['--data', data];
}

/** Returns the arguments for the runtime, without values that come from the environment. */
export function runtimeArgs(options: RuntimeOptions): string[] {
  const { runtime, address, namespace, queue, worker, postgres } = options;
  // Commands that only read a database do not know the runtime: suggest Temporal's options.
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
