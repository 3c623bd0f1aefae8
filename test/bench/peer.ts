import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the benchmarks. */
export const BENCH_FOLDER = fileURLToPath(new URL('.', import.meta.url));
/** The folder in which the peers are installed. */
export const PEERS_FOLDER = fileURLToPath(new URL('node_modules/', import.meta.url));

/**
 * Imports a module of a peer (a package that Heddle is compared with) from the node_modules of this folder. The name is
 * not a literal, so that the type checker and the linters do not resolve it: only the benchmark installs the peers.
 */
export async function importPeer<Module>(name: string): Promise<Module> {
  const loadedModule = (await import(name)) as Module & { default?: Module };
  return loadedModule.default === undefined || Object.keys(loadedModule).length > 1
    ? loadedModule
    : loadedModule.default;
}

/** Loads a CommonJS module of a peer. The package is resolved from the file `from`; default: this file. */
export function requirePeer<Module>(name: string, from: string | URL = import.meta.url): Module {
  return createRequire(from)(name) as Module;
}

/** Loads a CommonJS file that the package of a peer does not export. */
export function requirePeerFile<Module>(name: string, path: string): Module {
  return requirePeer(join(PEERS_FOLDER, name, path));
}
