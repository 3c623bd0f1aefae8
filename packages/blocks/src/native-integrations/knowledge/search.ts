import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { KnowledgeTagFilter, TagOperator } from '@heddle/engine/tenant-data';
import type { NativeToolCall } from '../native-integration.ts';
import { invalidCallError } from '../failures.ts';
import { requireFound, idIn, knowledgeOf, textIn } from './base.ts';

const OPERATORS: ReadonlySet<string> = new Set([
  'eq',
  'neq',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'gt',
  'gte',
  'lt',
  'lte',
  'between',
] satisfies TagOperator[]);

const DEFAULT_TOP_K = 10;

/** Searches a knowledge base. */
export async function searchKnowledge(call: NativeToolCall): Promise<JsonObject> {
  const { args } = call;
  const knowledge = knowledgeOf(call);
  const query = textIn(args, 'query')?.trim();
  const tagFilters = parseTagFilters(getOwn(args, 'tagFilters'));
  if (!query && tagFilters.length === 0)
    throw invalidCallError('has neither a "query" nor "tagFilters" to search for');
  const [topK, inputCount] = ['topK', 'rerankerInputCount'].map((name) => getOwn(args, name));
  const mode = textIn(args, 'searchMode');
  const results = await knowledge.search({
    knowledgeBaseId: idIn(call, 'knowledgeBaseId'),
    query: query === '' ? undefined : query,
    topK: typeof topK === 'number' ? topK : DEFAULT_TOP_K,
    tagFilters,
    searchMode: mode === 'vector' || mode === 'hybrid' ? mode : undefined,
    rerank:
      getOwn(args, 'rerankerEnabled') === true
        ? {
            model: textIn(args, 'rerankerModel'),
            inputCount: typeof inputCount === 'number' ? inputCount : undefined,
          }
        : undefined,
  });
  const resultObjects = requireFound(results, call).map((result) => ({ ...result }) as JsonObject);
  return { results: resultObjects, query: query ?? '', totalResults: resultObjects.length };
}

/** Returns the tag filters in a list. Skips entries without a name or a value, which editors leave in the list. */
function parseTagFilters(value: Json | undefined): KnowledgeTagFilter[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalidCallError('has an invalid "tagFilters": it must be a list');
  return value.flatMap((entry) => {
    if (!isJsonObject(entry)) throw invalidCallError('has an invalid tag filter: it must be an object');
    const tagName = getOwn(entry, 'tagName');
    const tagValue = getOwn(entry, 'tagValue') ?? getOwn(entry, 'value') ?? '';
    return typeof tagName !== 'string' || tagName.trim() === '' || tagValue === ''
      ? []
      : [filterOf(tagName.trim(), tagValue, entry)];
  });
}

function filterOf(tagName: string, value: Json, entry: JsonObject): KnowledgeTagFilter {
  const operator = getOwn(entry, 'operator') ?? 'eq';
  const valueTo = getOwn(entry, 'valueTo');
  if (typeof operator !== 'string' || !OPERATORS.has(operator))
    throw invalidCallError(
      `has a filter for the tag ${JSON.stringify(tagName.slice(0, 100))} with an invalid operator: it must be one of ${[...OPERATORS].join(', ')}`,
    );
  if (typeof value === 'object')
    throw invalidCallError(
      `compares the tag ${JSON.stringify(tagName.slice(0, 100))} with an invalid value: it must be a string, a number or a boolean`,
    );
  const hasEnd = typeof valueTo === 'number' || (typeof valueTo === 'string' && valueTo !== '');
  if (operator === 'between' && !hasEnd)
    throw invalidCallError(
      `has a range filter for the tag ${JSON.stringify(tagName.slice(0, 100))} without an end in "valueTo"`,
    );
  return { tagName, operator: operator as TagOperator, value, ...(hasEnd && { valueTo }) };
}

/** Lists the tags of a knowledge base. */
export async function listTags(call: NativeToolCall): Promise<JsonObject> {
  const knowledgeBaseId = idIn(call, 'knowledgeBaseId');
  const tags = requireFound(await knowledgeOf(call).listTags(knowledgeBaseId), call);
  return { knowledgeBaseId, tags, totalTags: tags.length };
}
