import type { PlacedBlock } from '../../graph/containment.ts';
import { own } from '../../json.ts';
import { inputFields } from '../../schema/input-format.ts';
import { diagnostic } from '../codes.ts';
import type { Compilation } from '../compilation.ts';

/** Keys of a start's output that steer a run. */
const STEERING = new Set(['error', 'selectedOption', 'selectedRoute', '_pauseMetadata']);

/** Input formats whose fields would steer the run. */
export function checkStarts({ structure, found }: Compilation, starts: readonly string[]): void {
  for (const id of starts) {
    const { block } = structure.places.get(id) as PlacedBlock;
    if (block.type === 'chat_trigger') continue;
    const metadata = own(block.fields, 'runMetadata') === true;
    for (const { name, index } of inputFields(block)) {
      if (!STEERING.has(name) && !(metadata && name === 'metadata')) continue;
      found.push(
        diagnostic('START_FIELD_RESERVED', {
          blockId: id,
          path: ['blocks', id, 'subBlocks', 'inputFormat', 'value', index, 'name'],
          message: `The input format of "${block.name}" has a field "${name}", a name that controls runs.`,
          hint: 'Rename the field.',
        }),
      );
    }
  }
}
