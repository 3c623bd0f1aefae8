import { routerRows } from '../graph/rows.ts';
import type { PlacedBlock } from '../graph/containment.ts';
import { own } from '../json.ts';
import type { Json } from '../json.ts';
import { referencesIn } from '../refs/inventory.ts';
import type { Template } from '../refs/template.ts';
import { compileTemplate } from '../refs/text.ts';
import type { Block } from '../schema/workflow.ts';
import { isContainerType } from '../schema/read-block.ts';
import { readCode } from './code.ts';
import { diagnostic } from './codes.ts';
import type { Compilation } from './compilation.ts';
import { readConditions } from './conditions.ts';
import { outputSchema } from './outputs.ts';
import type { BlockConfig } from './plan.ts';
import { fieldLocation } from './site.ts';
import { isTriggerType } from './types.ts';

/** What executors need of one block, its references compiled. Containers get theirs from `readContainer`. */
export function configureBlock(compilation: Compilation, place: PlacedBlock): BlockConfig {
  const { block, containers } = place;
  const trigger = block.trigger || isTriggerType(block.type);
  const code = block.type === 'function' && !trigger ? readCode(compilation, block) : undefined;
  const conditions = block.type === 'condition' ? readConditions(compilation, block) : undefined;
  const outputs = outputSchema(block, compilation.types);
  const apart = new Set([...(code ? ['code'] : []), ...(conditions ? ['conditions'] : [])]);
  return {
    ...(code && { code }),
    ...(conditions && { conditions }),
    containers: [...containers],
    id: block.id,
    name: block.name,
    ...(outputs && { outputs }),
    params: isContainerType(block.type) ? {} : readParams(compilation, block, { trigger, apart }),
    sources: [...new Set((compilation.structure.into.get(block.id) ?? []).map(({ source }) => source))],
    trigger,
    type: block.type,
  };
}

function readParams(
  compilation: Compilation,
  block: Block,
  { trigger, apart }: { trigger: boolean; apart: ReadonlySet<string> },
): { [name: string]: Template } {
  const params: { [name: string]: Template } = {};
  for (const name of Object.keys(block.fields)) {
    if (apart.has(name)) continue;
    const value = fieldValue(compilation, block, name);
    if (trigger || (block.type === 'condition' && name === 'conditions')) {
      // Nothing runs before a trigger, and unreadable rows are shown as they are.
      params[name] = { kind: 'literal', value };
      continue;
    }
    const site = fieldLocation(block, name);
    const { template, findings } = compileTemplate(value, compilation.context(site));
    compilation.report(site, findings, 'text');
    compilation.see(site, referencesIn(template));
    params[name] = template;
  }
  return params;
}

/** Routes are kept as rows, so that a value that a reference brings in cannot break the list. */
function fieldValue(compilation: Compilation, block: Block, name: string): Json {
  const stored = own(block.fields, name) ?? null;
  if (block.type !== 'router_v2' || name !== 'routes') return stored;
  const { rows, fault } = routerRows(block);
  if (fault === undefined) return rows.map((row): Json => ({ ...row }));
  compilation.found.push(
    diagnostic('ROUTES_UNREADABLE', {
      blockId: block.id,
      path: fieldLocation(block, name).path,
      message: `The routes of "${block.name}" cannot be read: ${fault}`,
      hint: 'Give a JSON array of {id, title, value}.',
    }),
  );
  return stored;
}
