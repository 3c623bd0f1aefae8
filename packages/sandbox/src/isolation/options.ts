import { SandboxError } from '../error.ts';
import { DEFAULT_UIDS, type UidRange } from './slot-uid.ts';

/**
 * How far the operating system confines a process: `strict` has a file system, network, users and processes of its own and
 * a filter of system calls; `standard` has limits on its resources, and a user of its own where the host is root;
 * `basic` has Node's permission model alone.
 */
export type IsolationLevel = 'strict' | 'standard' | 'basic';

/** From the least to the most. */
export const LEVELS: readonly IsolationLevel[] = ['basic', 'standard', 'strict'];

export function isAtLeast(level: IsolationLevel, minimum: IsolationLevel): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(minimum);
}

/** How far the operating system has to confine processes. */
export interface IsolationOptions {
  /** The level to run at; `best` (default): the highest that this host reaches. */
  readonly level?: IsolationLevel | 'best';
  /** Below it no job runs; default: the level that is asked for, with `best` `standard` on Linux and `basic` elsewhere. */
  readonly minimum?: IsolationLevel;
  /** Users that processes become where the host is root; default 60578 to 60705. Nothing else may run as one of them. */
  readonly uids?: UidRange;
  /** The path of bubblewrap; default: where systems keep it. */
  readonly bubblewrap?: string;
}

/** The options with defaults. */
export interface ResolvedIsolation {
  readonly level: IsolationLevel | 'best';
  readonly minimum: IsolationLevel;
  readonly uids: UidRange;
  readonly bubblewrap: string | undefined;
}

const HIGHEST_UID = 2 ** 31;

function requireLevel(name: string, value: string, more: readonly string[]): void {
  const known = [...LEVELS, ...more];
  if (known.includes(value)) return;
  throw new SandboxError(
    'INVALID_OPTION',
    `isolation.${name} is "${value}"; give one of ${known.join(', ')}.`,
  );
}

function requireUids({ from, to }: UidRange): void {
  if (Number.isInteger(from) && Number.isInteger(to) && from >= 1 && from <= to && to <= HIGHEST_UID) return;
  throw new SandboxError(
    'INVALID_OPTION',
    `isolation.uids is ${String(from)} to ${String(to)}; give two user ids above 0, the lower one first.`,
  );
}

/**
 * The options with defaults for this host.
 * @throws SandboxError INVALID_OPTION.
 */
export function resolveIsolation(options: IsolationOptions = {}): ResolvedIsolation {
  const { level = 'best', uids = DEFAULT_UIDS, bubblewrap } = options;
  requireLevel('level', level, ['best']);
  const usual = process.platform === 'linux' ? 'standard' : 'basic';
  const minimum = options.minimum ?? (level === 'best' ? usual : level);
  requireLevel('minimum', minimum, []);
  if (level !== 'best' && !isAtLeast(level, minimum)) {
    throw new SandboxError(
      'INVALID_OPTION',
      `isolation.level is "${level}", which is below isolation.minimum "${minimum}"; lower the minimum or raise the level.`,
    );
  }
  requireUids(uids);
  return { level, minimum, uids, bubblewrap };
}
