import type { ContainedBlock } from '../graph/containment.ts';
import type { JsonObject } from '../json.ts';
import type { Block } from '../schema/workflow.ts';
import type { Compilation } from './compilation.ts';
import { diagnostic } from './diagnostics.ts';
import { fieldLocation } from './field-location.ts';
import { isTriggerType, triggerRank, TRIGGER_PRIORITY } from './types.ts';

/** A trigger field with an invalid value. */
export interface TriggerProblem {
  field: string;
  /** The problem, as the end of a sentence about the field. */
  message: string;
}

/** A type of trigger that the host fires. */
export interface TriggerInfo {
  type: string;
  /**
   * Returns the configuration that the fields of a block describe, or all problems. `warnings` describe problems of a
   * configuration that works but could be misused.
   */
  parseConfig(
    fields: JsonObject,
  ): { config: JsonObject; warnings?: readonly TriggerProblem[] } | { problems: readonly TriggerProblem[] };
}

/** Reports triggers that nothing fires, and triggers whose fields are invalid. Reports nothing without `infos`. */
export function checkTriggers(
  compilation: Compilation,
  starts: readonly string[],
  infos: readonly TriggerInfo[] | undefined,
): void {
  if (!infos) return;
  const infoByType = new Map(infos.map((info) => [info.type, info]));
  for (const id of starts) {
    const { block } = compilation.structure.containedBlocks.get(id) as ContainedBlock;
    const info = infoByType.get(block.type);
    if (info) checkFields(compilation, block, info);
    else if (isExternalTrigger(block)) reportNotFired(compilation, block);
  }
}

/** Returns true for a trigger that waits for an event. A call starts the others. */
function isExternalTrigger({ type }: Block): boolean {
  return !isTriggerType(type) || triggerRank(type) === TRIGGER_PRIORITY.length;
}

function checkFields(compilation: Compilation, block: Block, info: TriggerInfo): void {
  const result = info.parseConfig(block.fields);
  if ('problems' in result)
    reportFields(compilation, block, result.problems, {
      code: 'TRIGGER_INVALID',
      hint: 'Correct it: the trigger cannot be deployed with this value.',
    });
  else
    reportFields(compilation, block, result.warnings ?? [], {
      code: 'TRIGGER_UNSAFE',
      hint: 'Set a secret, and give the same one to the sender.',
    });
}

function reportFields(
  { sink }: Compilation,
  block: Block,
  problems: readonly TriggerProblem[],
  { code, hint }: { code: 'TRIGGER_INVALID' | 'TRIGGER_UNSAFE'; hint: string },
): void {
  for (const { field, message } of problems)
    sink.push(
      diagnostic(code, {
        blockId: block.id,
        path: fieldLocation(block, field).path,
        message: `The field "${field}" of "${block.name}" ${message}.`,
        hint,
      }),
    );
}

function reportNotFired({ sink }: Compilation, block: Block): void {
  sink.push(
    diagnostic('TRIGGER_NOT_FIRED', {
      blockId: block.id,
      path: ['blocks', block.id, 'type'],
      message: `Nothing fires "${block.name}": this host has no events for triggers of the type "${block.type}".`,
      hint: 'Start runs with a call that names this block as the start.',
    }),
  );
}
