import { SandboxError } from '../error.ts';
import { DEFAULT_UIDS, type UidRange } from './process-uid.ts';

/**
 * How the operating system confines a process. `strict`: its own file system, network, user ids and processes, and a
 * filter of system calls. `standard`: resource limits, and its own user id if the host is root. `basic`: only Node.js's
 * permission model.
 */
export type IsolationLevel = 'strict' | 'standard' | 'basic';

/** From weakest to strongest. */
export const LEVELS: readonly IsolationLevel[] = ['basic', 'standard', 'strict'];

export function isAtLeast(level: IsolationLevel, minimum: IsolationLevel): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(minimum);
}

/** Isolation of the sandbox processes by the operating system. */
export interface IsolationOptions {
  /** The level to use; `best` (default): the highest that this host supports. */
  readonly level?: IsolationLevel | 'best';
  /**
   * The level below which no job runs. Default: the requested level; with `best`, `standard` on Linux and `basic`
   * elsewhere.
   */
  readonly minimum?: IsolationLevel;
  /** User ids for processes if the host is root; default 60578 to 60705. Nothing else may use them. */
  readonly uids?: UidRange;
  /** Path of bubblewrap; default: the system's. */
  readonly bubblewrap?: string;
}

/** The options with defaults applied. */
export interface ResolvedIsolation {
  readonly level: IsolationLevel | 'best';
  readonly minimum: IsolationLevel;
  readonly uids: UidRange;
  readonly bubblewrap: string | undefined;
}

const HIGHEST_UID = 2 ** 31;

function requireLevel(name: string, value: string, extraValues: readonly string[]): void {
  const values = [...LEVELS, ...extraValues];
  if (values.includes(value)) return;
  throw new SandboxError(
    'INVALID_OPTION',
    `isolation.${name} is "${value}"; give one of ${values.join(', ')}.`,
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
 * Applies this host's defaults to the options.
 * @throws SandboxError INVALID_OPTION.
 */
export function resolveIsolation(options: IsolationOptions = {}): ResolvedIsolation {
  const { level = 'best', uids = DEFAULT_UIDS, bubblewrap } = options;
  requireLevel('level', level, ['best']);
  const defaultMinimum = process.platform === 'linux' ? 'standard' : 'basic';
  const minimum = options.minimum ?? (level === 'best' ? defaultMinimum : level);
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
