/** A process in namespaces of its own, over a root that holds nothing but what is named. */
export interface Jail {
  /** Files and folders that appear at their own paths, read-only. */
  readonly readable: readonly string[];
  /** Further arguments of bubblewrap that fill the root, in order: `--ro-bind`, `--tmpfs`, `--dir` … */
  readonly mounts?: readonly string[];
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** The working directory; default `/`. */
  readonly folder?: string;
  /** The descriptor on which bubblewrap reads the filter of system calls. */
  readonly filterFd: number;
  readonly command: readonly string[];
}

/** The user and group inside: nobody. */
const NOBODY = '65534';

/**
 * The arguments of bubblewrap for a process with namespaces of every kind, no capability, no network, no `/proc`, no `/dev`
 * and no terminal, which dies with its parent. Bubblewrap itself must not run as root: as user 0 its guests could write
 * where only the host's root may.
 */
export function bubblewrapArguments(jail: Jail): string[] {
  return [
    '--unshare-all',
    // With --unshare-all alone it goes on where there is no user namespace.
    '--unshare-user',
    '--die-with-parent',
    '--new-session',
    ...['--cap-drop', 'ALL', '--uid', NOBODY, '--gid', NOBODY, '--hostname', 'sandbox'],
    '--clearenv',
    ...Object.entries(jail.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...jail.readable.flatMap((path) => ['--ro-bind', path, path]),
    ...(jail.mounts ?? []),
    ...['--remount-ro', '/', '--chdir', jail.folder ?? '/', '--seccomp', String(jail.filterFd)],
    '--',
    ...jail.command,
  ];
}
