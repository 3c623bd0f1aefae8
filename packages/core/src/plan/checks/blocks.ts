import { parentOf } from '../../graph/containment.ts';
import type { PlacedBlock } from '../../graph/containment.ts';
import { append } from '../../graph/lists.ts';
import { own } from '../../json.ts';
import type { Json } from '../../json.ts';
import { isContainerType } from '../../schema/read-block.ts';
import type { Block } from '../../schema/workflow.ts';
import { diagnostic } from '../codes.ts';
import type { DiagnosticCode } from '../codes.ts';
import type { Compilation } from '../compilation.ts';
import { fieldLocation } from '../site.ts';
import type { BlockConfig } from '../plan.ts';
import { NearNames } from '../../refs/nearest.ts';
import { isTriggerType, typeNames } from '../types.ts';
import { checkFields } from './fields.ts';

/** Fields without which a block of a known type fails or does nothing when it is reached. A mock may still stand in for it. */
const NEEDED: ReadonlyMap<string, string> = new Map([
  ['workflow', 'workflowId'],
  ['workflow_input', 'workflowId'],
  ['api', 'url'],
]);

/** Types that nothing runs, fields that must not be empty, and fields that blocks do not take. */
export function checkBlocks(compilation: Compilation, configs: ReadonlyMap<string, BlockConfig>): void {
  const types = new NearNames(typeNames(compilation.types));
  const bodies = new Map<string, PlacedBlock[]>();
  for (const place of compilation.structure.places.values()) {
    const container = parentOf(place);
    if (container !== undefined) append(bodies, container, place);
  }
  for (const id of [...compilation.structure.members].toSorted()) {
    const { block } = compilation.structure.places.get(id) as PlacedBlock;
    if (!block.trigger || isTriggerType(block.type)) checkFields(compilation, block, configs.get(id));
    if (block.trigger || isTriggerType(block.type)) continue;
    if (isContainerType(block.type)) checkBody(compilation, block, bodies.get(id) ?? []);
    else {
      checkType(compilation, block, types);
      checkEmpty(compilation, block);
    }
  }
}

function checkType(compilation: Compilation, block: Block, types: NearNames): void {
  if (compilation.runnable.has(block.type)) return;
  const near = compilation.types.has(block.type) ? undefined : types.nearest(block.type);
  compilation.found.push(
    diagnostic('BLOCK_TYPE_UNKNOWN', {
      blockId: block.id,
      path: ['blocks', block.id, 'type'],
      message: `Nothing that is registered runs blocks of the type "${block.type}"; "${block.name}" fails when it is reached.`,
      hint: near
        ? `Did you mean "${near.name}"? Else register an executor for the type, or give it a mock.`
        : 'Register an executor for the type, or give it a mock.',
    }),
  );
}

function checkEmpty(compilation: Compilation, block: Block): void {
  for (const name of compilation.types.get(block.type)?.required ?? []) {
    if (isEmpty(own(block.fields, name))) report(compilation, block, { code: 'FIELD_REQUIRED', name });
  }
  const needed = NEEDED.get(block.type);
  if (needed !== undefined && isEmpty(own(block.fields, needed))) {
    report(compilation, block, { code: 'FIELD_EMPTY', name: needed });
  }
}

function report(
  compilation: Compilation,
  block: Block,
  { code, name }: { code: DiagnosticCode; name: string },
): void {
  const { path } = fieldLocation(block, name);
  const message = `The field "${name}" of "${block.name}" is empty.`;
  compilation.found.push(diagnostic(code, { blockId: block.id, path, message, hint: 'Fill it in.' }));
}

function checkBody({ structure, found }: Compilation, block: Block, inside: readonly PlacedBlock[]): void {
  if ((structure.regions.get(block.id)?.size ?? 0) > 0) return;
  const why =
    inside.length === 0
      ? 'it is empty'
      : inside.some(({ enabled }) => enabled)
        ? 'no edge leads to any'
        : 'all are disabled';
  found.push(
    diagnostic('CONTAINER_EMPTY', {
      blockId: block.id,
      path: ['blocks', block.id],
      message: `The ${block.type} "${block.name}" has no block inside that can run: ${why}.`,
      hint: `Put a block into it and draw an edge to it from the ${block.type}.`,
    }),
  );
}

function isEmpty(value: Json | undefined): boolean {
  return (
    value == null ||
    (typeof value === 'string' && value.trim() === '') ||
    (Array.isArray(value) && value.length === 0)
  );
}
