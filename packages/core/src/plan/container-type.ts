import type { Json } from '../json.ts';
import type { Block } from '../schema/workflow.ts';
import { diagnostic } from './codes.ts';
import type { Compilation } from './compilation.ts';
import { containerValue } from './container-value.ts';
import type { ContainerConfig } from './plan.ts';

const LOOP_TYPES = ['for', 'forEach', 'while', 'doWhile'] as const;

/** The kind of a loop or parallel; undefined: a loop type that does not exist. Absent means by count. */
export function containerType(compilation: Compilation, block: Block): ContainerConfig['kind'] | undefined {
  return block.type === 'loop' ? loopType(compilation, block) : parallelType(compilation, block);
}

function loopType(compilation: Compilation, block: Block): ContainerConfig['kind'] | undefined {
  const said = say(compilation, block, 'loopType');
  if (said === undefined) return 'for';
  const known = LOOP_TYPES.find((type) => type === said);
  if (known) return known;
  compilation.found.push(
    diagnostic('LOOP_TYPE_UNKNOWN', {
      blockId: block.id,
      path: ['blocks', block.id, 'data', 'loopType'],
      message: `The loop "${block.name}" has the type ${JSON.stringify(said)}, which does not exist.`,
      hint: `Use one of ${LOOP_TYPES.join(', ')}.`,
    }),
  );
  return undefined;
}

function parallelType(compilation: Compilation, block: Block): ContainerConfig['kind'] {
  const said = say(compilation, block, 'parallelType');
  if (said === undefined || said === 'count') return 'parallelCount';
  if (said !== 'collection') {
    compilation.found.push(
      diagnostic('PARALLEL_TYPE_UNKNOWN', {
        blockId: block.id,
        path: ['blocks', block.id, 'data', 'parallelType'],
        message: `The parallel "${block.name}" has the type ${JSON.stringify(said)}, which does not exist; it runs over its collection.`,
        hint: 'Use count or collection.',
      }),
    );
  }
  return 'parallelCollection';
}

function say(compilation: Compilation, block: Block, key: string): Json | undefined {
  const { value } = containerValue(compilation, block, key);
  return value === '' || value === null ? undefined : value;
}
