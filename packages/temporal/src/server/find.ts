import { type Binary, probeBinary } from './binary.ts';
import { goMaker } from './build.ts';
import { cachedBinary, cacheFolder, fillCache, type Maker } from './cache.ts';
import { type Env, isExecutable, onPath } from './command.ts';
import { DOWNLOADS, downloadMaker } from './download.ts';

/** The newest version that `go install` builds from the module proxy; it carries server 1.27.1. */
const VERSION = 'v1.3.0';

/** A place where a server may come from. */
export type ServerSource = 'TEMPORAL_ADDRESS' | 'TEMPORAL_CLI' | 'PATH' | 'cache' | 'go' | 'download';

/** The order in which places are tried. */
const PLACES: readonly ServerSource[] = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_CLI',
  'PATH',
  'cache',
  'go',
  'download',
];

/** A server that runs, a binary to start one with, or why there is neither. */
export type FoundServer =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'binary'; readonly binary: Binary; readonly place: ServerSource }
  | { readonly kind: 'none'; readonly reason: string };

export interface FindOptions {
  readonly env: Env;
  /** Told, line by line, of what takes minutes, and why. */
  readonly say: (line: string) => void;
  /** The places to try, in the usual order; default all. Without `go` and `download` nothing takes long. */
  readonly places?: readonly ServerSource[];
  /** Where archives are asked for; default the service of Temporal's makers. */
  readonly downloads?: string;
}

type Tried = Exclude<FoundServer, { kind: 'none' }> | { readonly kind: 'no'; readonly why: string };
type Finder = (options: FindOptions) => Promise<Tried>;

/**
 * A server, from the first place that has one: an address, a command that is named, installed or cached, and else
 * one that is built or downloaded into the user's cache folder. An address is taken as it is, nobody connects here.
 *
 * What the user names and does not work is not passed over: the search ends there, with the reason.
 */
export async function findServer(options: FindOptions): Promise<FoundServer> {
  const { places = PLACES } = options;
  const whys: string[] = [];
  for (const place of PLACES.filter((each) => places.includes(each))) {
    const tried = await FINDERS[place](options);
    if (tried.kind !== 'no') return tried;
    whys.push(`${place}: ${tried.why}`);
    if (isNamed(place, options.env)) break;
  }
  return { kind: 'none', reason: `There is no Temporal server. ${whys.join('; ')}. ${ADVICE}` };
}

const ADVICE =
  'Set TEMPORAL_ADDRESS to the host:port of a server that runs, or TEMPORAL_CLI to the "temporal" command.';

function isNamed(place: ServerSource, env: Env): boolean {
  return (place === 'TEMPORAL_ADDRESS' || place === 'TEMPORAL_CLI') && Boolean(env[place]);
}

const FINDERS: Readonly<Record<ServerSource, Finder>> = {
  TEMPORAL_ADDRESS: async ({ env }) => {
    const address = env['TEMPORAL_ADDRESS'];
    if (!address) return no('not set');
    return /^[^\s/]+:\d+$/.test(address)
      ? { kind: 'address', address }
      : no(`"${address}" is not of the form host:port`);
  },
  TEMPORAL_CLI: async ({ env }) => {
    const named = env['TEMPORAL_CLI'];
    if (!named) return no('not set');
    const path = named.includes('/') ? named : onPath(named, env);
    return path ? probed(path, 'TEMPORAL_CLI', env) : no(`there is no ${named} on PATH`);
  },
  PATH: async ({ env }) => {
    const path = onPath('temporal', env);
    return path ? probed(path, 'PATH', env) : no('there is no temporal on it');
  },
  cache: async ({ env }) => {
    const path = cachedBinary(cacheFolder(env, VERSION));
    return isExecutable(path) ? probed(path, 'cache', env) : no(`there is no ${path} yet`);
  },
  go: async (options) => filled('go', options, goMaker(VERSION, options.env, options.say)),
  download: async (options) => {
    const service = options.downloads ?? DOWNLOADS;
    return filled('download', options, downloadMaker(VERSION, { service, env: options.env }));
  },
};

function no(why: string): Tried {
  return { kind: 'no', why };
}

async function probed(path: string, place: ServerSource, env: Env): Promise<Tried> {
  const { binary, problem } = await probeBinary(path, env);
  return binary ? { kind: 'binary', binary, place } : no(problem);
}

async function filled(place: ServerSource, { env, say }: FindOptions, make: Maker): Promise<Tried> {
  const folder = cacheFolder(env, VERSION);
  const path = cachedBinary(folder);
  try {
    const problem = await fillCache(folder, {
      isReady: async () => isExecutable(path) && (await probeBinary(path, env)).problem === undefined,
      make,
      onWait: () => say(`Another process is getting Temporal ${VERSION} into ${folder}: waiting for it.`),
    });
    return problem === undefined ? await probed(path, place, env) : no(problem);
  } catch (error) {
    return no(`the cache folder ${folder} can't be used: ${(error as Error).message}`);
  }
}
