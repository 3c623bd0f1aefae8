import { createHash } from 'node:crypto';
import type { StoredValue } from '@heddle/core/run';
import type { RuntimeDependencies, TimedEntry } from '@heddle/engine/runtime';

/**
 * Returns journal entries as a payload. Short lists are inline. Lists with confidential entries (failures, whose
 * messages may contain any data; resume tokens; people's answers) are always references, so that the server never has
 * them. A list in the value store is removed together with the run.
 */
export async function storeChunk(
  { values, stores }: Pick<RuntimeDependencies, 'values' | 'stores'>,
  runId: string,
  entries: readonly TimedEntry[],
): Promise<StoredValue> {
  const list = entries as never;
  const chunk = await (entries.some(isConfidential) ? values.storeByReference(list) : values.store(list));
  if ('ref' in chunk) await stores.runs.addValueUses(runId, [chunk.ref.key]);
  return chunk;
}

function isConfidential(entry: TimedEntry): boolean {
  return (
    entry.type === 'failed' ||
    entry.type === 'resumed' ||
    (entry.type === 'paused' && entry.token !== undefined)
  );
}

/**
 * Returns the hash of a resume token. Workflows know tokens only by their hash, so that the history does not contain
 * them.
 */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
