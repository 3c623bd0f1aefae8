import { existsSync, realpathSync } from 'node:fs';
import {
  bubblewrapArguments,
  DEFAULT_RLIMITS,
  limitArguments,
  dropArguments,
  type HostTools,
} from './host-tools.ts';
import type { IsolationLevel } from './options.ts';
import { librariesOf, unusualFolders } from './libraries.ts';
import type { Program } from './program.ts';
import { seccompFilter } from './seccomp.ts';
import { takeSlotUid, type UidRange } from './slot-uid.ts';
import type { Architecture } from './syscalls.ts';

/** How the processes of a sandbox are confined. */
export interface Confinement {
  readonly level: IsolationLevel;
  readonly tools: HostTools;
  /** The users that processes become; null where they stay the host's. */
  readonly uids: UidRange | null;
}

/** How one process is started. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
  /** To be written to FILTER_FD, where there is one. */
  readonly filter: Buffer | null;
  /** Whether it has a pipe at SYNC_FD. */
  readonly waits: boolean;
  /** Files that it gets open after that. */
  readonly files: readonly string[] | undefined;
  /** The process' own user, to be freed at its end. */
  readonly uid: number | null;
  /** Whether processes that it started could outlive it. */
  readonly leavesOthers: boolean;
}

/** The descriptors of every process: standard ones, then the channel, then what bubblewrap reads, then SYNC_FD and files. */
const CHANNEL_FD = 3;
const FILTER_FD = 4;

/** How Node.js tells a child of its channel; `env` of the caller is empty, so this is all there is. */
const CHANNEL = { NODE_CHANNEL_FD: String(CHANNEL_FD), NODE_CHANNEL_SERIALIZATION_MODE: 'advanced' };

/** The arguments of Node.js; `permission` is its own model of permissions, which only tests of the other layers leave out. */
function nodeArguments(program: Program, permission: boolean): string[] {
  const readable = [program.file, ...program.readable].map((path) => `--allow-fs-read=${path}`);
  return [
    ...program.flags,
    ...(permission ? ['--permission', '--allow-addons', ...readable] : []),
    '--no-warnings',
    program.file,
    ...program.args,
  ];
}

function limited({ tools, uids }: Confinement, program: Program, command: readonly string[]): string[] {
  const limits = limitArguments({
    ...DEFAULT_RLIMITS,
    dataMiB: program.dataMiB,
    cpuSeconds: program.maxCpuSeconds ?? DEFAULT_RLIMITS.cpuSeconds,
    // The kernel counts all of a user's threads: those of the host would count too.
    threads: uids === null ? null : DEFAULT_RLIMITS.threads,
  });
  return [tools.prlimit as string, ...limits, ...command];
}

function jailed(tools: HostTools, execPath: string, program: Program, command: readonly string[]): string[] {
  const addons = program.readable.filter((path) => path.endsWith('.node'));
  const libraries = librariesOf(execPath, addons);
  const folders = unusualFolders(libraries);
  const jail = bubblewrapArguments({
    readable: [execPath, ...libraries, program.file, ...program.readable],
    environment: { ...CHANNEL, ...(folders.length > 0 && { LD_LIBRARY_PATH: folders.join(':') }) },
    filterFd: FILTER_FD,
    command,
  });
  return [tools.bubblewrap as string, ...jail];
}

/**
 * What to start for a program at a level. Paths of the program are real ones.
 * @throws SandboxError SLOTS_EXHAUSTED.
 */
export function confine(
  confinement: Confinement,
  execPath: string,
  program: Program,
  permission = true,
): Invocation {
  const { level, tools, uids } = confinement;
  // What does not exist fails when it is started, which is told.
  const node = existsSync(execPath) ? realpathSync(execPath) : execPath;
  let line = [node, ...nodeArguments(program, permission)];
  if (level === 'strict') line = jailed(tools, node, program, line);
  if (level !== 'basic') line = limited(confinement, program, line);
  const uid = uids === null ? null : takeSlotUid(uids);
  if (level !== 'basic' && tools.setpriv !== null)
    line = [tools.setpriv, ...dropArguments(uid, process.geteuid?.() === 0), ...line];
  const [command = node, ...args] = line;
  const filter = level === 'strict' ? seccompFilter({ architecture: process.arch as Architecture }) : null;
  return {
    command,
    args,
    filter,
    uid,
    leavesOthers: level !== 'strict',
    waits: program.waits ?? false,
    files: program.files,
  };
}
