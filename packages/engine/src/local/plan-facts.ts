import { EngineError } from '@heddle/core';
import type { NewRun, Plan } from '@heddle/core';
import { envNamesIn, normalizeName } from '@heddle/core/blocks';
import type { BlockConfig } from '@heddle/core/blocks';
import { authored } from '../executors/authored.ts';
import { inputFields } from '../executors/input-format.ts';
import { templatesOf } from './reader.ts';

const namesOf = new WeakMap<Plan, readonly string[]>();

/** Names of the environment values that the plan's blocks use, sorted. */
export function envNames(plan: Plan): readonly string[] {
  let names = namesOf.get(plan);
  if (!names) {
    const all = Object.values(plan.blocks).flatMap((block) =>
      templatesOf(block).flatMap((part) => envNamesIn(part)),
    );
    namesOf.set(plan, (names = [...new Set(all)].sort()));
  }
  return names;
}

/** Why the run cannot go on with the environment values `env`; undefined: it can. */
export function missingEnvironment(
  header: NewRun,
  env: { readonly [name: string]: string },
): string | undefined {
  const missing = header.env.filter((name) => !Object.hasOwn(env, name));
  if (missing.length === 0) return undefined;
  const list = missing.map((name) => `{{${name}}}`).join(', ');
  return `The run needs a value for ${list}: give it, and start again.`;
}

/** Names of the inputs that the plan's start block declares; undefined: it declares none. */
export function declaredInputs(plan: Plan): string[] | undefined {
  const fields = inputFields(authored(plan.blocks[plan.start]?.params['inputFormat']));
  return fields.length > 0 ? fields.map(({ name }) => name) : undefined;
}

/** The block that `reference` names by id or by name, as in references. Throws BLOCK_NOT_FOUND. */
export function findBlock(plan: Plan, reference: string): BlockConfig {
  const byId = Object.hasOwn(plan.blocks, reference) ? plan.blocks[reference] : undefined;
  const wanted = normalizeName(reference);
  const found = byId ?? Object.values(plan.blocks).find((block) => normalizeName(block.name) === wanted);
  if (found) return found;
  const names = Object.values(plan.blocks).map((block) => `"${block.name}"`);
  throw new EngineError(
    'BLOCK_NOT_FOUND',
    `The workflow "${plan.workflow.name}" has no block "${reference}". It has: ${names.join(', ')}.`,
    {
      details: { block: reference },
    },
  );
}
