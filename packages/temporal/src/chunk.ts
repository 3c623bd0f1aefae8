import type { Stored } from '@heddle/core/run';
import type { RuntimeParts, Timed } from '@heddle/engine/runtime';

/**
 * The entries as they travel. Small ones go as they are, but for those that are nobody's affair who can look at the
 * server: messages of failures, which may hold anything, tokens with which a run is resumed, and what people answer.
 */
export async function chunkOf(values: RuntimeParts['values'], entries: readonly Timed[]): Promise<Stored> {
  const list = entries as never;
  return entries.some(isPrivate) ? values.keepApart(list) : values.keep(list);
}

function isPrivate(entry: Timed): boolean {
  return (
    entry.type === 'failed' ||
    entry.type === 'resumed' ||
    (entry.type === 'paused' && entry.token !== undefined)
  );
}
