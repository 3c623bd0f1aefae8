import type { Area } from '@heddle/api';
import { Catalog } from './catalog.ts';
import type { BlockDescription } from './catalog.ts';
import { ConnectorTypes } from './connectors.ts';
import type { ConnectorType } from './connectors.ts';
import { executeTool, getBlock, getTool, listBlocks, listConnectorTypes, listTools } from './operations.ts';
import type { CatalogServices } from './operations.ts';
import { Tools } from './tools.ts';
import type { CatalogTool, DescribedTool } from './tools.ts';

export const CATALOG_OPERATIONS = {
  listBlocks,
  getBlock,
  listTools,
  getTool,
  executeTool,
  listConnectorTypes,
} as const;

/** The blocks, tools and connectors that workflows and their agents can use. */
export interface CatalogOptions {
  /** Returns the block types that the engine runs. Called when the block types are first needed. */
  describeBlocks: () => Promise<readonly BlockDescription[]>;
  /** The tools that agents can call: the same as in the option `tools` of `@heddle/blocks`. Default: none. */
  tools?: readonly CatalogTool[];
  /** Returns tools that run only in workflows. Called when the tools are first needed. Default: none. */
  describeTools?: () => Promise<readonly DescribedTool[]>;
  /** The connector types of knowledge bases. Default: none. */
  connectorTypes?: readonly ConnectorType[];
}

/**
 * Returns the area (a module of API operations) of block types, tools and connectors. Throws a RangeError for an
 * invalid tool or connector type.
 */
export function catalog({
  describeBlocks,
  tools = [],
  describeTools,
  connectorTypes = [],
}: CatalogOptions): Area<CatalogServices, typeof CATALOG_OPERATIONS> {
  const services = {
    catalog: new Catalog(describeBlocks),
    tools: new Tools(tools, describeTools),
    connectorTypes: new ConnectorTypes(connectorTypes),
  };
  return { name: 'catalog', operations: CATALOG_OPERATIONS, services: () => services };
}
