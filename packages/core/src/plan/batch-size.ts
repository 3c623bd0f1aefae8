import type { Block } from '../schema/workflow.ts';
import { diagnostic } from './codes.ts';
import type { Compilation } from './compilation.ts';
import { containerValue } from './container-value.ts';

const USUAL = 20;

/** Branches of a parallel that may be open at once: 1 to 20, in graphs made for this engine to 1,000. */
export function readBatchSize(compilation: Compilation, block: Block): number {
  const { value, site } = containerValue(compilation, block, 'batchSize');
  if (value == null) return USUAL;
  const most = compilation.workflow.dialect === 'heddle' ? 1000 : USUAL;
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
  const used = Number.isNaN(number) ? USUAL : Math.min(most, Math.max(1, Math.floor(number)));
  if (used !== number) {
    compilation.found.push(
      diagnostic('BATCH_SIZE_CLAMPED', {
        blockId: block.id,
        path: site.path,
        message: `The batch size of "${block.name}" is ${JSON.stringify(value)}; ${used} is used.`,
        hint: `Use a whole number from 1 to ${most}.`,
      }),
    );
  }
  return used;
}
