import type { BlocksOptions } from '../options.ts';
import type { ServiceTools } from './service-tools.ts';

const cachedTools = new WeakMap<BlocksOptions, Promise<ServiceTools>>();

/**
 * Returns the tools of the files in the options, read once; undefined if there are no files. Throws OPTIONS_INVALID.
 */
export async function loadServiceTools(options: BlocksOptions): Promise<ServiceTools | undefined> {
  const { toolFiles = [] } = options;
  if (toolFiles.length === 0) return undefined;
  const tools =
    cachedTools.get(options) ??
    import('./service-tools.ts').then((module) => new module.ServiceTools(toolFiles));
  cachedTools.set(options, tools);
  return tools;
}
