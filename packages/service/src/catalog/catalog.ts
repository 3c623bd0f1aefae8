import { getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { isTriggerType } from '@heddle/core/drafts';
import { fieldsOf, valueTypeOf, propertiesOf } from './fields.ts';
import type { BlockField } from './fields.ts';
import { loadOnce } from './load-once.ts';
import { matchesSearch, pageOfItems } from './page.ts';
import type { CatalogPosition, PageQuery } from './page.ts';

/**
 * A block type, with the schemas of its fields and output. It has the same shape as `BlockDescription` of
 * `@heddle/blocks`, which this package may not import.
 */
export interface BlockDescription {
  type: string;
  /** What the block does, in one sentence. */
  summary: string;
  /** JSON Schema of the fields: an object whose properties are the fields by name. */
  fields: JsonObject;
  /** JSON Schema of the output. */
  outputs: JsonObject;
  /** `custom`: a type that a host has added. Default: builtin. */
  source?: Source;
}

type Source = 'builtin' | 'custom';
type Category = 'blocks' | 'triggers';
type SortKey = 'id' | 'name' | 'category';

/** A block type in a list. */
export interface BlockSummary {
  id: string;
  name: string;
  description: string;
  category: Category;
  source: Source;
  triggerAllowed: boolean;
  triggerCapable: boolean;
  triggerIds: string[];
  toolIds: string[];
  operationIds: string[];
  preview: boolean;
  tags: string[];
}

/** The type and the description of an input or output. */
interface ValueInfo {
  type: string;
  description?: string;
}

/** A block type with its fields and outputs. */
export interface BlockDetail extends BlockSummary {
  inputSchema: BlockField[];
  operationInputSchema: { [operation: string]: BlockField[] };
  inputDefinitions: { [name: string]: ValueInfo & { schema: JsonObject } };
  operations: JsonObject;
  tools: JsonObject[];
  triggers: { id: string; outputs: { [name: string]: ValueInfo }; configFields: JsonObject }[];
  outputs: { [name: string]: ValueInfo };
}

export interface CatalogQuery extends PageQuery {
  search?: string | undefined;
  category?: string | undefined;
  /** Only types that can start a run. */
  capability?: 'trigger' | undefined;
  source?: Source | undefined;
  sortBy: SortKey;
}

/** The block types that the engine of a service runs. */
export class Catalog {
  readonly #loadBlocks: () => Promise<ReadonlyMap<string, CatalogBlock>>;

  /** `describe` is called when the catalog is first read, and again only after a failure. */
  constructor(describe: () => Promise<readonly BlockDescription[]>) {
    this.#loadBlocks = loadOnce(async () => {
      const descriptions = await describe();
      return new Map(descriptions.map((block) => [block.type, { block, summary: summaryOf(block) }]));
    });
  }

  /** Returns a page of the types, and the position of its last type if more follow. */
  async list(query: CatalogQuery): Promise<{ page: BlockSummary[]; next: CatalogPosition | undefined }> {
    const summaries = [...(await this.#loadBlocks()).values()]
      .map(({ summary }) => summary)
      .filter((block) => matches(block, query));
    return pageOfItems(summaries, query, (block) => [block[query.sortBy], block.id]);
  }

  /** Returns the type with its fields and outputs; undefined for an unknown type. */
  async find(id: string): Promise<BlockDetail | undefined> {
    const catalogBlock = (await this.#loadBlocks()).get(id);
    return catalogBlock && detailOf(catalogBlock);
  }
}

interface CatalogBlock {
  block: BlockDescription;
  summary: BlockSummary;
}

function summaryOf({ type, summary, source = 'builtin' }: BlockDescription): BlockSummary {
  const isTrigger = isTriggerType(type);
  return {
    id: type,
    name: displayNameOf(type),
    description: summary,
    category: isTrigger ? 'triggers' : 'blocks',
    source,
    triggerAllowed: isTrigger,
    triggerCapable: isTrigger,
    triggerIds: isTrigger ? [type] : [],
    toolIds: [],
    operationIds: [],
    preview: false,
    tags: [],
  };
}

function detailOf({ block, summary }: CatalogBlock): BlockDetail {
  const inputSchema = fieldsOf(block.fields);
  const outputs = valueInfosOf(block.outputs);
  const configFields = Object.fromEntries(
    inputSchema.map(({ id, type, required = false, description }): [string, JsonObject] => [
      id,
      { type, required, ...(description !== undefined && { description }) },
    ]),
  );
  return {
    ...summary,
    inputSchema,
    operationInputSchema: {},
    inputDefinitions: Object.fromEntries(
      propertiesOf(block.fields).map(([name, schema]) => [
        name,
        { ...valueInfoOf(schema), schema: withDefinitions(schema, block.fields) },
      ]),
    ),
    operations: {},
    tools: [],
    triggers: summary.triggerIds.map((id) => ({ id, outputs, configFields })),
    outputs,
  };
}

function valueInfosOf(schema: JsonObject): { [name: string]: ValueInfo } {
  return Object.fromEntries(propertiesOf(schema).map(([name, property]) => [name, valueInfoOf(property)]));
}

function valueInfoOf(schema: JsonObject): ValueInfo {
  const description = getOwn(schema, 'description');
  return { type: valueTypeOf(schema), ...(typeof description === 'string' && { description }) };
}

/** Returns the schema of a field, with the definitions of the whole schema if it refers to any. */
function withDefinitions(schema: JsonObject, rootSchema: JsonObject): JsonObject {
  const definitions = getOwn(rootSchema, '$defs');
  return definitions === undefined || !JSON.stringify(schema).includes('"$ref"')
    ? schema
    : { ...schema, $defs: definitions };
}

/** Returns the display name of a type: `Human in the loop` for `human_in_the_loop`. */
function displayNameOf(type: string): string {
  const words = type.split('_').map((word) => (word === 'api' ? 'API' : word));
  const text = words.join(' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function matches(block: BlockSummary, { search, category, capability, source }: CatalogQuery): boolean {
  if (category !== undefined && block.category !== category) return false;
  if (capability === 'trigger' && !block.triggerCapable) return false;
  if (source !== undefined && block.source !== source) return false;
  return matchesSearch(search, [block.id, block.name, block.description]);
}
