import type * as z from 'zod';
import { own } from '../../json.ts';
import type { Json } from '../../json.ts';
import { NearNames } from '../../refs/nearest.ts';
import type { Near } from '../../refs/nearest.ts';
import { BLOCK_FIELDS } from '../../schema/block-fields.ts';
import { isBlank } from '../../schema/unknown-keys.ts';
import type { Block } from '../../schema/workflow.ts';
import { diagnostic } from '../codes.ts';
import type { Compilation } from '../compilation.ts';
import type { BlockConfig } from '../plan.ts';
import { fieldLocation } from '../site.ts';

/** Fields of a built-in block that look misspelt, and values that its executor does not take. Of values with references only a run knows. */
export function checkFields(compilation: Compilation, block: Block, config: BlockConfig | undefined): void {
  const schema = BLOCK_FIELDS.get(block.type);
  if (!schema) return;
  const near = new NearNames(Object.keys(schema.shape));
  for (const [name, value] of Object.entries(block.fields)) {
    if (isBlank(value)) continue;
    const field = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
    if (!field) checkName(compilation, block, { name, near: near.nearest(name) });
    else if (config?.params[name]?.kind === 'literal') checkValue(compilation, block, { name, value, field });
  }
}

function checkName(
  { found }: Compilation,
  block: Block,
  { name, near }: { name: string; near: Near | undefined },
): void {
  // Where the field that it is near to is filled in too, it is another one.
  if (!near || !isBlank(own(block.fields, near.name))) return;
  found.push(
    diagnostic('FIELD_UNKNOWN', {
      blockId: block.id,
      path: ['blocks', block.id, 'subBlocks', name],
      message: `"${block.name}" has a field "${name}", which blocks of the type "${block.type}" do not read.`,
      hint: `Did you mean "${near.name}"?`,
    }),
  );
}

function checkValue(
  { found }: Compilation,
  block: Block,
  { name, value, field }: { name: string; value: Json; field: z.ZodType },
): void {
  const read = field.safeParse(value);
  if (read.success) return;
  const expected = read.error.issues[0]?.message ?? 'another value';
  const listed = expected.startsWith('one of ') ? expected.slice('one of '.length).split(', ') : [];
  const near = typeof value === 'string' ? new NearNames(listed).nearest(value) : undefined;
  found.push(
    diagnostic('FIELD_VALUE', {
      blockId: block.id,
      path: fieldLocation(block, name).path,
      message: `The field "${name}" of "${block.name}" is ${shown(value)}; it takes ${expected}.`,
      hint: near ? `Did you mean "${near.name}"?` : 'Correct the value.',
    }),
  );
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
