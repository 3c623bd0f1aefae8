import { existsSync, realpathSync } from 'node:fs';
import {
  bubblewrapArguments,
  DEFAULT_RLIMITS,
  prlimitArguments,
  setprivArguments,
  type HostTools,
} from './host-tools.ts';
import type { IsolationLevel } from './options.ts';
import { librariesOf, customFolders } from './libraries.ts';
import type { Program } from './program.ts';
import { createSeccompFilter } from './seccomp.ts';
import { takeProcessUid, type UidRange } from './process-uid.ts';
import type { Architecture } from './syscalls.ts';

/** How the processes of a sandbox are confined. */
export interface Confinement {
  readonly level: IsolationLevel;
  readonly tools: HostTools;
  /** User ids for the processes; undefined if they keep the host's. */
  readonly uids: UidRange | undefined;
}

/** How to start one process. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
  /** The seccomp filter, to be written to FILTER_FD; undefined for none. */
  readonly filter: Buffer | undefined;
  /** True if the process gets the pipe SYNC_FD. */
  readonly hasSyncPipe: boolean;
  /** Files that are opened for the process, as the following descriptors. */
  readonly files: readonly string[] | undefined;
  /** User id of the process, freed at its end. */
  readonly uid: number | undefined;
  /** True if processes that it started could outlive it. */
  readonly mayLeaveProcesses: boolean;
}

/** Descriptors of every process: the standard ones, the IPC channel, bubblewrap's input, SYNC_FD, then files. */
const CHANNEL_FD = 3;
const FILTER_FD = 4;

/** Variables with which Node.js finds the IPC channel. The caller's environment is not inherited. */
const CHANNEL_ENVIRONMENT = {
  NODE_CHANNEL_FD: String(CHANNEL_FD),
  NODE_CHANNEL_SERIALIZATION_MODE: 'advanced',
};

/**
 * Returns the arguments of Node.js. `usesPermissions` enables its permission model; only tests of the other layers, and
 * the self-test of `strict`, disable it.
 */
function nodeArguments(program: Program, usesPermissions: boolean): string[] {
  const readablePaths = [program.file, ...program.readablePaths].map((path) => `--allow-fs-read=${path}`);
  return [
    ...program.flags,
    ...(usesPermissions ? ['--permission', '--allow-addons', ...readablePaths] : []),
    '--no-warnings',
    program.file,
    ...program.args,
  ];
}

function withLimits({ tools, uids }: Confinement, program: Program, command: readonly string[]): string[] {
  const limits = prlimitArguments({
    ...DEFAULT_RLIMITS,
    dataMiB: program.dataMiB,
    cpuSeconds: program.maxCpuSeconds ?? DEFAULT_RLIMITS.cpuSeconds,
    // The kernel counts all threads of a user id, so without a separate id the host's threads would count too.
    threads: uids === undefined ? undefined : DEFAULT_RLIMITS.threads,
  });
  return [tools.prlimit as string, ...limits, ...command];
}

function jailCommand(
  tools: HostTools,
  execPath: string,
  program: Program,
  command: readonly string[],
): string[] {
  const addons = program.readablePaths.filter((path) => path.endsWith('.node'));
  const libraries = librariesOf(execPath, addons);
  const folders = customFolders(libraries);
  const jailArguments = bubblewrapArguments({
    readablePaths: [execPath, ...libraries, program.file, ...program.readablePaths],
    environment: {
      ...CHANNEL_ENVIRONMENT,
      ...(folders.length > 0 && { LD_LIBRARY_PATH: folders.join(':') }),
    },
    filterFd: FILTER_FD,
    command,
  });
  return [tools.bubblewrap as string, ...jailArguments];
}

/**
 * Returns how to start a program at an isolation level. The program's paths must not contain symbolic links.
 * @throws SandboxError SLOTS_EXHAUSTED.
 */
export function confine(
  confinement: Confinement,
  execPath: string,
  program: Program,
  usesPermissions = true,
): Invocation {
  const { level, tools, uids } = confinement;
  // If the file is missing, starting the process fails with a clear error.
  const nodePath = existsSync(execPath) ? realpathSync(execPath) : execPath;
  let commandLine = [nodePath, ...nodeArguments(program, usesPermissions)];
  if (level === 'strict') commandLine = jailCommand(tools, nodePath, program, commandLine);
  if (level !== 'basic') commandLine = withLimits(confinement, program, commandLine);
  const uid = uids === undefined ? undefined : takeProcessUid(uids);
  if (level !== 'basic' && tools.setpriv !== undefined)
    commandLine = [tools.setpriv, ...setprivArguments(uid, process.geteuid?.() === 0), ...commandLine];
  const [command = nodePath, ...args] = commandLine;
  const filter =
    level === 'strict' ? createSeccompFilter({ architecture: process.arch as Architecture }) : undefined;
  return {
    command,
    args,
    filter,
    uid,
    mayLeaveProcesses: level !== 'strict',
    hasSyncPipe: program.hasSyncPipe ?? false,
    files: program.files,
  };
}
