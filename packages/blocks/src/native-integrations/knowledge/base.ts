import { getOwn } from '@heddle/core/blocks';
import type { BlockError, JsonObject } from '@heddle/core/blocks';
import type { RunTenantKnowledge } from '@heddle/engine/tenant-data';
import type { NativeToolCall } from '../native-integration.ts';
import { missingFeatureError, permanentError } from '../failures.ts';

/** Number of items of a list if the call has no limit. */
const DEFAULT_LIMIT = 50;

/** Returns the knowledge bases of the workspace. Throws FEATURE_MISSING if the host stores none. */
export function knowledgeOf({
  context: { services, block },
}: Pick<NativeToolCall, 'context'>): RunTenantKnowledge {
  if (services.tenantKnowledge) return services.tenantKnowledge;
  throw missingFeatureError(block, 'knowledge');
}

/** Returns a string argument; undefined if it is absent. */
export function textIn(args: JsonObject, name: string): string | undefined {
  const value = getOwn(args, name);
  return typeof value === 'string' ? value : undefined;
}

/** Returns a required id argument, without surrounding spaces. */
export function idIn({ args }: NativeToolCall, name: string): string {
  return (textIn(args, name) ?? '').trim();
}

/** Returns the ids of the document of a call and of its knowledge base. */
export function documentIdsOf(call: NativeToolCall): { knowledgeBaseId: string; documentId: string } {
  return { knowledgeBaseId: idIn(call, 'knowledgeBaseId'), documentId: idIn(call, 'documentId') };
}

/** Returns the limit and the offset of a list. */
export function pageOf({ args }: NativeToolCall): { limit: number; offset: number } {
  const [limit, offset] = ['limit', 'offset'].map((name) => getOwn(args, name));
  return {
    limit: typeof limit === 'number' ? limit : DEFAULT_LIMIT,
    offset: typeof offset === 'number' ? offset : 0,
  };
}

/**
 * Returns what the host has found. Throws KNOWLEDGE_UNKNOWN for undefined: the error is the same for a knowledge base
 * of another workspace.
 */
export function requireFound<T>(value: T | undefined, call: NativeToolCall): T {
  if (value !== undefined) return value;
  throw unknownItemError(call);
}

function unknownItemError(call: NativeToolCall): BlockError {
  const items = (
    [
      ['chunkId', 'chunk'],
      ['documentId', 'document'],
      ['connectorId', 'connector'],
    ] as const
  ).flatMap(([name, noun]) => {
    const id = textIn(call.args, name);
    return id === undefined ? [] : [`${noun} ${JSON.stringify(id.slice(0, 100))}`];
  });
  const suffix = items.length === 0 ? '' : `, or it has no ${items.join(' of the ')}`;
  return unknownKnowledgeBaseError(idIn(call, 'knowledgeBaseId'), suffix);
}

/** Returns KNOWLEDGE_UNKNOWN. `suffix` names the other items that may be unknown. */
export function unknownKnowledgeBaseError(id: string, suffix = ''): BlockError {
  const base = JSON.stringify(id.slice(0, 100));
  return permanentError('KNOWLEDGE_UNKNOWN', `The workspace has no knowledge base ${base}${suffix}.`);
}
