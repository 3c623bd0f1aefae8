import { availableParallelism } from 'node:os';
import { bareRoot, type Confinement, INSIDE, PROXY_PORT, runTree, type TreeEnd } from '@heddle/sandbox/build';
import { GoGate } from './gate.ts';

export const GO_MINUTES = 60;
export const GO_MEMORY_MIB = 6_144;
/** Of one compiler: from here on it looks for memory that it can do without. */
const SOFT_MEMORY_MIB = 2_048;
const MAX_COMPILERS = 4;
const OUTPUT_BYTES = 64 * 2 ** 20;
const FILE_MIB = 1_024;
const PROCESSES = 512;

/** Where things stand in Go's sandbox. */
const PLACES = {
  toolchain: '/run/heddle/go',
  sources: `${INSIDE.work}/src`,
  home: `${INSIDE.work}/home`,
  programs: `${INSIDE.work}/bin`,
} as const;

/** One run of Go. Folders are those of the host. */
export interface GoRun {
  readonly args: readonly string[];
  readonly toolchain: string;
  readonly sources: string;
  /** The folder of the module, in that of the sources. */
  readonly folder: string;
  /** What it may write to: its caches, and programs. */
  readonly home: string;
  readonly programs: string;
  /** The socket of the gate to the module proxies; null: nothing goes out. */
  readonly gate: string | null;
  readonly uid: number | null;
}

/** The path of a program while it is made. */
export const placeOf = (program: string): string => `${PLACES.programs}/${program}`;

/**
 * The whole environment: settings that a module, or a file of settings, could have otherwise are said here, where nothing goes
 * before them. No other program is found, no C compiler and no version control among them.
 */
function environmentOf(gate: string | null): Record<string, string> {
  const width = String(Math.min(availableParallelism(), MAX_COMPILERS));
  return {
    HOME: PLACES.home,
    PATH: '/nonexistent',
    TMPDIR: `${PLACES.home}/tmp`,
    GOTMPDIR: `${PLACES.home}/tmp`,
    GOROOT: PLACES.toolchain,
    GOPATH: `${PLACES.home}/path`,
    GOMODCACHE: `${PLACES.home}/modules`,
    GOCACHE: `${PLACES.home}/cache`,
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
    GOPROXY: gate === null ? 'off' : GoGate.url,
    CGO_ENABLED: '0',
    GOMAXPROCS: width,
    GOMEMLIMIT: `${SOFT_MEMORY_MIB}MiB`,
    ...(gate !== null && { http_proxy: `http://127.0.0.1:${PROXY_PORT}` }),
  };
}

/** Runs Go to its end, in a sandbox that has its toolchain and the sources, and nothing else of the host. */
export async function runGo(
  run: GoRun,
  confinement: Confinement,
  signal: AbortSignal,
  output: (data: Buffer) => void,
): Promise<TreeEnd> {
  const { execPath, readable, environment } = bareRoot();
  return runTree(confinement, {
    jail: {
      rootfs: null,
      execPath,
      readable,
      mounts: [
        ...['--ro-bind', run.toolchain, PLACES.toolchain, '--ro-bind', run.sources, PLACES.sources],
        ...['--bind', run.home, PLACES.home, '--bind', run.programs, PLACES.programs],
      ],
      folder: `${PLACES.sources}/${run.folder}`,
      // The first program leads what goes to the proxy's port to the gate.
      command: [INSIDE.node, `${INSIDE.boot}/boot.cjs`],
      environment: { ...environmentOf(run.gate), ...environment },
      limits: { memoryMiB: GO_MEMORY_MIB, diskMiB: 64, processes: PROCESSES },
      fileMiB: FILE_MIB,
      cpuSeconds: GO_MINUTES * 60,
      proxy: run.gate,
    },
    job: JSON.stringify({ language: 'command', command: [`${PLACES.toolchain}/bin/go`, ...run.args] }),
    limits: {
      cpuMs: GO_MINUTES * 60_000 * MAX_COMPILERS,
      wallMs: GO_MINUTES * 60_000,
      resultBytes: 0,
      outputBytes: OUTPUT_BYTES,
    },
    ...(run.uid !== null && { uid: run.uid }),
    signal,
    output: (data) => output(data),
  });
}
