import { createGoInstaller } from './build.ts';
import { cachedBinaryPath, cacheFolder, installOnce, type Installer } from './cache.ts';
import { type Env, isExecutable, findOnPath, runCommand } from './command.ts';
import { DOWNLOAD_SERVICE_URL, createDownloadInstaller } from './download.ts';

/** The newest version of the Temporal CLI that `go install` builds from the module proxy. It contains server 1.27.1. */
const CLI_VERSION = 'v1.3.0';

/** The first start reads 140 MB from disk. */
const PROBE_TIMEOUT_MS = 60_000;

/** A `temporal` command that works on this machine. */
export interface Binary {
  /** Absolute path of the executable. */
  readonly path: string;
  /** Version of the server in it, such as `1.27.1`. */
  readonly serverVersion: string;
}

/** A source of a server. */
export type ServerSource = 'TEMPORAL_ADDRESS' | 'TEMPORAL_CLI' | 'PATH' | 'cache' | 'go' | 'download';

/** All sources, in the order in which they are tried. */
const SOURCES: readonly ServerSource[] = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_CLI',
  'PATH',
  'cache',
  'go',
  'download',
];

/** A running server, a binary that starts one, or the reason why there is neither. */
export type FoundServer =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'binary'; readonly binary: Binary; readonly source: ServerSource }
  | { readonly kind: 'none'; readonly reason: string };

export interface FindOptions {
  readonly env: Env;
  /** Called with lines about steps that take minutes. */
  readonly log: (line: string) => void;
  /** Sources to try; default all. Without `go` and `download`, all steps are fast. */
  readonly sources?: readonly ServerSource[];
  /** URL of the service that returns the URLs of archives; default Temporal's. */
  readonly downloadServiceUrl?: string;
}

type SourceResult =
  | Exclude<FoundServer, { kind: 'none' }>
  | { readonly kind: 'unavailable'; readonly reason: string };
type Finder = (options: FindOptions) => Promise<SourceResult>;

/**
 * Finds a server, or a command to start one, from the first source that has either. The last two sources build or
 * download the command into the user's cache folder. An address is not checked by connecting to it.
 *
 * An invalid TEMPORAL_ADDRESS or TEMPORAL_CLI ends the search with the reason.
 */
export async function findServer(options: FindOptions): Promise<FoundServer> {
  const { sources = SOURCES } = options;
  const reasons: string[] = [];
  for (const source of SOURCES.filter((candidate) => sources.includes(candidate))) {
    const result = await FINDERS[source](options);
    if (result.kind !== 'unavailable') return result;
    reasons.push(`${source}: ${result.reason}`);
    if (isConfigured(source, options.env)) break;
  }
  return { kind: 'none', reason: `No Temporal server found. ${reasons.join('; ')}. ${HINT}` };
}

const HINT =
  'Set TEMPORAL_ADDRESS to the host:port of a running server, or TEMPORAL_CLI to the path of the "temporal" command.';

function isConfigured(source: ServerSource, env: Env): boolean {
  return (source === 'TEMPORAL_ADDRESS' || source === 'TEMPORAL_CLI') && Boolean(env[source]);
}

const FINDERS: Readonly<Record<ServerSource, Finder>> = {
  TEMPORAL_ADDRESS: async ({ env }) => {
    const address = env['TEMPORAL_ADDRESS'];
    if (!address) return unavailableResult('not set');
    return /^[^\s/]+:\d+$/.test(address)
      ? { kind: 'address', address }
      : unavailableResult(`"${address}" is not of the form host:port`);
  },
  TEMPORAL_CLI: async ({ env }) => {
    const command = env['TEMPORAL_CLI'];
    if (!command) return unavailableResult('not set');
    const path = command.includes('/') ? command : findOnPath(command, env);
    return path ? probe(path, 'TEMPORAL_CLI', env) : unavailableResult(`${command} is not on PATH`);
  },
  PATH: async ({ env }) => {
    const path = findOnPath('temporal', env);
    return path ? probe(path, 'PATH', env) : unavailableResult('temporal is not on PATH');
  },
  cache: async ({ env }) => {
    const path = cachedBinaryPath(cacheFolder(env, CLI_VERSION));
    return isExecutable(path) ? probe(path, 'cache', env) : unavailableResult(`${path} does not exist yet`);
  },
  go: async (options) => install('go', options, createGoInstaller(CLI_VERSION, options.env, options.log)),
  download: async (options) => {
    const serviceUrl = options.downloadServiceUrl ?? DOWNLOAD_SERVICE_URL;
    return install(
      'download',
      options,
      createDownloadInstaller(CLI_VERSION, { serviceUrl, env: options.env }),
    );
  },
};

function unavailableResult(reason: string): SourceResult {
  return { kind: 'unavailable', reason };
}

async function probe(path: string, source: ServerSource, env: Env): Promise<SourceResult> {
  const result = await readServerVersion(path, env);
  if (result.problem !== undefined) return unavailableResult(result.problem);
  return { kind: 'binary', binary: { path, serverVersion: result.serverVersion }, source };
}

/** Returns the version of the server in a command, or the reason why the command cannot be used. */
async function readServerVersion(
  path: string,
  env: Env,
): Promise<{ serverVersion: string; problem?: undefined } | { problem: string }> {
  const result = await runCommand(path, ['--version'], { env, timeoutMs: PROBE_TIMEOUT_MS });
  if (result.problem !== undefined) return result;
  const serverVersion = /^temporal version .*\(Server ([^,)]+)/m.exec(result.output)?.[1];
  if (serverVersion !== undefined) return { serverVersion };
  const firstLine = result.output.trim().split('\n')[0]?.slice(0, 120) ?? '';
  return { problem: `${path} is not Temporal's command: its --version prints "${firstLine}"` };
}

async function install(
  source: ServerSource,
  { env, log }: FindOptions,
  installer: Installer,
): Promise<SourceResult> {
  const folder = cacheFolder(env, CLI_VERSION);
  const path = cachedBinaryPath(folder);
  try {
    const problem = await installOnce(folder, {
      isReady: async () => isExecutable(path) && (await readServerVersion(path, env)).problem === undefined,
      install: installer,
      onWait: () => log(`Waiting for another process that installs Temporal ${CLI_VERSION} into ${folder}.`),
    });
    return problem === undefined ? await probe(path, source, env) : unavailableResult(problem);
  } catch (error) {
    return unavailableResult(`cannot use the cache folder ${folder}: ${(error as Error).message}`);
  }
}
