import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { isEmpty, isReferenceOrPlaceholder, textOf } from './graph.ts';
import type { PortableGraph } from './graph.ts';
import { REFERENCE_KINDS } from './kinds.ts';
import type { ReferenceField } from './kinds.ts';
import { clearSecret, isSecretName, withoutSecrets } from './secrets.ts';

/** A field whose value the export has cleared. */
export interface ClearedField {
  blockId: string;
  blockName: string;
  key: string;
}

export interface SanitizedGraph {
  graph: PortableGraph;
  clearedFields: ClearedField[];
  /** A message for each malformed field, which was dropped. */
  warnings: string[];
}

/** Types of sub-blocks that select a resource of an account or workspace. */
const SELECTOR_TYPES: ReadonlySet<string> = new Set([
  'channel-selector',
  'column-selector',
  'document-tag-entry',
  'file-selector',
  'folder-selector',
  'knowledge-tag-filters',
  'mcp-tool-selector',
  'project-selector',
  'sheet-selector',
  'user-selector',
]);
/** Keys of such selections in tools, and in sub-blocks in which a user types the value. */
const SELECTOR_KEYS: ReadonlySet<string> = new Set([
  'channelId',
  'documentTags',
  'folderId',
  'projectId',
  'tagFilters',
]);
/** Keys of URLs that a deployment has created. */
const DEPLOYMENT_KEY = /^(?:webhookId|triggerPath|webhookUrlDisplay(?:_\w+)?)$/;

/**
 * Returns the graph for an export. Secrets, credentials, rows of tables (request headers, for example) and URLs
 * of deployments are always cleared; selected resources of the workspace are kept with `keepBindings`. Text that is
 * only a placeholder or reference (`{{NAME}}`, `<block.output>`) stays, except in rows of tables and URLs of
 * deployments.
 */
export function sanitize(graph: PortableGraph, { keepBindings = false } = {}): SanitizedGraph {
  const clearedFields: ClearedField[] = [];
  const warnings: string[] = [];
  const blocks = Object.entries(graph.blocks).map(([id, block]): [string, JsonObject] => {
    const { subBlocks, ...rest } = block;
    const cleanBlock = withoutSecrets(rest) as JsonObject;
    if (!isJsonObject(subBlocks)) return [id, cleanBlock];
    const blockRef = { blockId: id, blockName: textOf(block, 'name') || id };
    const fields = Object.entries(subBlocks).flatMap(([key, field]): [string, Json][] => {
      if (!isJsonObject(field) || key === 'undefined' || field['type'] === 'unknown') {
        warnings.push(
          `${blockRef.blockName}: the field "${key.slice(0, 100)}" is malformed and was dropped.`,
        );
        return [];
      }
      const originalValue = getOwn(field, 'value') ?? null;
      const referenceField = { ownerType: textOf(block, 'type'), key, type: textOf(field, 'type') };
      const value = sanitizeValue(originalValue, referenceField, keepBindings);
      if (isEmpty(value) && !isEmpty(originalValue)) clearedFields.push({ ...blockRef, key });
      return [[key, { ...field, value }]];
    });
    return [id, { ...cleanBlock, subBlocks: Object.fromEntries(fields) }];
  });
  return {
    graph: {
      ...graph,
      blocks: Object.fromEntries(blocks),
      variables: withoutSecrets(graph.variables) as JsonObject,
      ...(graph.metadata && { metadata: withoutSecrets(graph.metadata) as JsonObject }),
    },
    clearedFields,
    warnings,
  };
}

function sanitizeValue(value: Json, field: ReferenceField, keepBindings: boolean): Json {
  if (field.type === 'table' || DEPLOYMENT_KEY.test(field.key)) return null;
  if (mustClear(field, keepBindings)) return isReferenceOrPlaceholder(value) ? value : null;
  if (field.type === 'password' || isSecretName(field.key)) return clearSecret(value);
  const cleanValue = withoutSecrets(field.type === 'file-upload' ? withoutUrls(value) : value);
  return isToolList(field) ? sanitizeTools(cleanValue, keepBindings) : cleanValue;
}

function mustClear(field: ReferenceField, keepBindings: boolean): boolean {
  const kind = REFERENCE_KINDS.find(({ accepts }) => accepts(field));
  if (kind?.clearedByExport === 'always') return true;
  if (keepBindings) return false;
  return (
    kind?.clearedByExport !== undefined || SELECTOR_TYPES.has(field.type) || SELECTOR_KEYS.has(field.key)
  );
}

/** Returns whether the field has tools of an agent, even if it has another type. */
export function isToolList({ key, type }: Pick<ReferenceField, 'key' | 'type'>): boolean {
  return type === 'tool-input' || key === 'tools';
}

/** Clears references in the parameters of tools. The list may be JSON text. */
function sanitizeTools(value: Json, keepBindings: boolean): Json {
  if (typeof value === 'string') {
    const list = parseList(value);
    return list === undefined ? value : JSON.stringify(sanitizeTools(list, keepBindings));
  }
  if (!Array.isArray(value)) return value;
  return value.map((tool) => {
    if (!isJsonObject(tool)) return tool;
    const params = getOwn(tool, 'params');
    if (!isJsonObject(params)) return tool;
    const ownerType = textOf(tool, 'type');
    const entries = Object.entries(params).map(([key, paramValue]): [string, Json] => {
      const isKept =
        !mustClear({ ownerType, key, type: '' }, keepBindings) || isReferenceOrPlaceholder(paramValue);
      return [key, isKept ? paramValue : null];
    });
    return { ...tool, params: Object.fromEntries(entries) };
  });
}

/** Returns a list that is stored as JSON text; undefined for other text. */
export function parseList(text: string): Json[] | undefined {
  if (!text.trimStart().startsWith('[')) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the URLs of files, because a URL gives access to the file. */
function withoutUrls(value: Json): Json {
  if (Array.isArray(value)) return value.map((file) => (isJsonObject(file) ? withoutUrl(file) : file));
  return isJsonObject(value) ? withoutUrl(value) : value;
}

function withoutUrl({ url: _url, ...file }: JsonObject): JsonObject {
  return file;
}
