import type { Area } from '@heddle/api';
import { Catalog } from './catalog.ts';
import type { BlockDescription } from './catalog.ts';
import { executeTool, getBlock, getTool, listBlocks, listTools } from './operations.ts';
import type { CatalogServices } from './operations.ts';
import { Tools } from './tools.ts';
import type { CatalogTool } from './tools.ts';

export const CATALOG = { listBlocks, getBlock, listTools, getTool, executeTool } as const;

/** What workflows and their agents can use. */
export interface CatalogOptions {
  /** Returns the types of blocks that the engine runs. Called when they are first needed. */
  describeBlocks: () => Promise<readonly BlockDescription[]>;
  /** The tools that agents can call, as in the options of their blocks. Default: none. */
  tools?: readonly CatalogTool[];
}

/** Returns the area of types of blocks and of tools. Throws a RangeError for tools that cannot be used. */
export function catalog({
  describeBlocks,
  tools = [],
}: CatalogOptions): Area<CatalogServices, typeof CATALOG> {
  const services = { catalog: new Catalog(describeBlocks), tools: new Tools(tools) };
  return { name: 'catalog', operations: CATALOG, services: () => services };
}
