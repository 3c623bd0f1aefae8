import type { Json } from '../../packages/core/src/json.ts';
import type { Lookup } from '../../packages/core/src/refs/lookup.ts';
import { buildNames } from '../../packages/core/src/refs/names.ts';
import type { NameTable } from '../../packages/core/src/refs/names.ts';
import type { TemplateContext } from '../../packages/core/src/refs/read-tag.ts';

/** The names of a workflow with one block `p` and one variable `v`. */
const names: NameTable = buildNames(
  [{ id: 'p', name: 'p', type: 'function', enabled: true }],
  [{ id: 'v', name: 'v' }],
);

/** The context in which a field of the block `p` is compiled. */
export const context: TemplateContext = { names, blockId: 'p', fieldPosition: 'ordinary' };

/** Returns a lookup in which the output of the block, the variable and every environment value are `value`. */
export function createLookup(value: Json): Lookup {
  return {
    block: () => ({ ran: true, output: value }),
    container: () => undefined,
    results: () => undefined,
    variable: () => value,
    env: () => (typeof value === 'string' ? value : JSON.stringify(value)),
    describe: () => ({ name: 'p', type: 'function' }),
  };
}
