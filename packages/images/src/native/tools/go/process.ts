import { availableParallelism } from 'node:os';
import {
  minimalRootFileSystem,
  type Confinement,
  JAIL_PATHS,
  PROXY_PORT,
  runProcessTree,
  type ProcessTreeEnd,
} from '@heddle/sandbox/build';
import { GoModuleProxy } from './module-proxy.ts';
import type { OutputListener } from '../../../log.ts';

/** Limits of one run of Go. */
export const MAX_GO_MINUTES = 60;
export const MAX_GO_MEMORY_MIB = 6_144;
/** Soft memory limit of a compiler; beyond it, Go collects garbage more aggressively. */
const SOFT_MEMORY_MIB = 2_048;
const MAX_COMPILERS = 4;
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;
const MAX_FILE_MIB = 1_024;
const MAX_PROCESSES = 512;

/** Paths in Go's sandbox. */
const PATHS = {
  toolchain: '/run/heddle/go',
  sources: `${JAIL_PATHS.work}/src`,
  home: `${JAIL_PATHS.work}/home`,
  programs: `${JAIL_PATHS.work}/bin`,
} as const;

/** One run of Go. Folders are paths on the host. */
export interface GoRun {
  readonly args: readonly string[];
  readonly toolchain: string;
  readonly sources: string;
  /** Folder of the module, relative to `sources`. */
  readonly folder: string;
  /** Writable folders: caches, and compiled programs. */
  readonly home: string;
  readonly programs: string;
  /** Socket of the Go module proxy; undefined for no network. */
  readonly proxySocket: string | undefined;
  readonly uid: number | undefined;
}

/** Returns the path of a program in the sandbox while it is built. */
export const programPath = (program: string): string => `${PATHS.programs}/${program}`;

/**
 * Returns the whole environment of Go. It has every setting that a module or a settings file could change, because the
 * environment takes precedence over both. `PATH` has no programs, so Go finds neither a C compiler nor version control.
 */
function environmentOf(proxySocket: string | undefined): Record<string, string> {
  const compilers = String(Math.min(availableParallelism(), MAX_COMPILERS));
  return {
    HOME: PATHS.home,
    PATH: '/nonexistent',
    TMPDIR: `${PATHS.home}/tmp`,
    GOTMPDIR: `${PATHS.home}/tmp`,
    GOROOT: PATHS.toolchain,
    GOPATH: `${PATHS.home}/path`,
    GOMODCACHE: `${PATHS.home}/modules`,
    GOCACHE: `${PATHS.home}/cache`,
    GOENV: 'off',
    GOWORK: 'off',
    GO111MODULE: 'on',
    GOFLAGS: '-mod=readonly -modcacherw',
    GOTOOLCHAIN: 'local',
    GOTELEMETRY: 'off',
    GOAUTH: 'off',
    GOVCS: '*:off',
    GOPRIVATE: '',
    GONOPROXY: 'none',
    GOSUMDB: 'off',
    GOPROXY: proxySocket === undefined ? 'off' : GoModuleProxy.url,
    CGO_ENABLED: '0',
    GOMAXPROCS: compilers,
    GOMEMLIMIT: `${SOFT_MEMORY_MIB}MiB`,
    ...(proxySocket !== undefined && { http_proxy: `http://127.0.0.1:${PROXY_PORT}` }),
  };
}

/** Runs Go until it ends, in a sandbox with its toolchain and the sources, and nothing else of the host. */
export async function runGo(
  run: GoRun,
  confinement: Confinement,
  signal: AbortSignal,
  outputListener: OutputListener,
): Promise<ProcessTreeEnd> {
  const { execPath, readablePaths, environment } = minimalRootFileSystem();
  return runProcessTree(confinement, {
    jail: {
      execPath,
      readablePaths,
      mounts: [
        ...['--ro-bind', run.toolchain, PATHS.toolchain, '--ro-bind', run.sources, PATHS.sources],
        ...['--bind', run.home, PATHS.home, '--bind', run.programs, PATHS.programs],
      ],
      folder: `${PATHS.sources}/${run.folder}`,
      // boot.cjs runs the job's command, and forwards requests on the proxy's port to the Go module proxy.
      command: [JAIL_PATHS.node, `${JAIL_PATHS.boot}/boot.cjs`],
      environment: { ...environmentOf(run.proxySocket), ...environment },
      limits: { memoryMiB: MAX_GO_MEMORY_MIB, diskMiB: 64, processes: MAX_PROCESSES },
      fileMiB: MAX_FILE_MIB,
      cpuSeconds: MAX_GO_MINUTES * 60,
      proxy: run.proxySocket,
    },
    job: JSON.stringify({ language: 'command', command: [`${PATHS.toolchain}/bin/go`, ...run.args] }),
    limits: {
      cpuMs: MAX_GO_MINUTES * 60_000 * MAX_COMPILERS,
      wallMs: MAX_GO_MINUTES * 60_000,
      resultBytes: 0,
      outputBytes: MAX_OUTPUT_BYTES,
    },
    ...(run.uid !== undefined && { uid: run.uid }),
    signal,
    onOutput: outputListener,
  });
}
