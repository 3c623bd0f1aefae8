import { own } from '../json.ts';
import type { Json } from '../json.ts';
import { isBlank } from '../schema/unknown-keys.ts';
import type { Block } from '../schema/workflow.ts';
import { canonicalJson } from './canonical.ts';
import { diagnostic } from './codes.ts';
import type { Compilation } from './compilation.ts';
import { fieldLocation } from './site.ts';
import type { FieldLocation } from './site.ts';

/** What a container says under `key`, and where it says it: in its data, else in its fields, else in the stored map. */
export function containerValue(
  compilation: Compilation,
  block: Block,
  key: string,
): { value: Json | undefined; site: FieldLocation } {
  const data = own(block.container, key);
  const inData = { block, path: ['blocks', block.id, 'data', key] };
  if (!isBlank(data)) return { value: data, site: inData };
  const field = own(block.fields, key);
  if (!isBlank(field)) return { value: field, site: fieldLocation(block, key) };
  const stored = compilation.storedOf(block);
  const value = stored && own(stored.container, key);
  if (data === undefined && !isBlank(value))
    return { value, site: { block, path: [mapOf(block), block.id] } };
  return { value: data, site: inData };
}

/** Reports where the stored map of a container says something else than its block. */
export function compareStored(compilation: Compilation, block: Block, keys: readonly string[]): void {
  const stored = compilation.storedOf(block);
  for (const key of keys) {
    const mine = own(block.container, key);
    const other = stored && own(stored.container, key);
    if (isBlank(mine) || isBlank(other) || canonicalJson(mine) === canonicalJson(other)) continue;
    compilation.found.push(
      diagnostic('CONTAINER_MAP_DIFFERS', {
        blockId: block.id,
        path: [mapOf(block), block.id],
        message: `The ${key} of "${block.name}" is ${JSON.stringify(mine)}; its stored map says ${JSON.stringify(other)}. The block counts.`,
        hint: 'Remove the stored map: it is derived from the blocks.',
      }),
    );
  }
}

function mapOf(block: Block): string {
  return block.type === 'loop' ? 'loops' : 'parallels';
}
