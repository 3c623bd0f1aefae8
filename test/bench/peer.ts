import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * A module of a peer, from this folder's own node_modules. The names are no literals to the type checker or the linters:
 * peers are installed by the bench alone, so everything else has to do without them.
 */
export async function peer<Module>(name: string): Promise<Module> {
  const loaded = (await import(name)) as Module & { default?: Module };
  return loaded.default === undefined || Object.keys(loaded).length > 1 ? loaded : loaded.default;
}

/** The same for packages that are CommonJS all through. */
export function commonPeer<Module>(name: string): Module {
  return require(name) as Module;
}
