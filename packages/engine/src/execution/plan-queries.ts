import { EngineError } from '@heddle/core';
import type { RunHeader, Plan } from '@heddle/core';
import { envNamesIn, normalizeName } from '@heddle/core/blocks';
import type { BlockConfig, Region } from '@heddle/core/blocks';
import { mountedNames } from '../executors/function.ts';
import { authoredValue, inputFields } from '@heddle/core/fields';
import type { InputField } from '@heddle/core/fields';
import { templatesOf } from './reference-resolver.ts';

const mayStartChildRunsByPlan = new WeakMap<Plan, boolean>();

/** True if a block of the plan, at any depth, runs other workflows, or has tools, which can be workflows. */
export function mayStartChildRuns(plan: Plan): boolean {
  let result = mayStartChildRunsByPlan.get(plan);
  if (result === undefined) {
    result =
      hasChildBlock(plan.skeleton) || Object.values(plan.blocks).some(({ params }) => 'tools' in params);
    mayStartChildRunsByPlan.set(plan, result);
  }
  return result;
}

function hasChildBlock({ nodes }: Region): boolean {
  return nodes.some((node) => node.class === 'child' || (node.subflow && hasChildBlock(node.subflow.body)));
}

const envNamesByPlan = new WeakMap<Plan, readonly string[]>();

/** Returns the names of the environment values that the plan's blocks use, sorted. */
export function envNames(plan: Plan): readonly string[] {
  let names = envNamesByPlan.get(plan);
  if (!names) {
    const allNames = Object.values(plan.blocks).flatMap((block) =>
      templatesOf(block).flatMap((template) => envNamesIn(template)),
    );
    envNamesByPlan.set(plan, (names = [...new Set(allNames)].sort()));
  }
  return names;
}

/** The environment values that the blocks of a plan can read. */
export interface EnvironmentReads {
  names: readonly string[];
  /** True if the blocks can read all values, not only those in `names`. */
  readsAll: boolean;
  /** Ids of the blocks that read at least one value. */
  blocks: ReadonlySet<string>;
}

const environmentReadsByPlan = new WeakMap<Plan, EnvironmentReads>();

/**
 * Returns the environment values that the plan's blocks can read, by `{{NAME}}` and through the values passed to code.
 */
export function environmentReads(plan: Plan): EnvironmentReads {
  let reads = environmentReadsByPlan.get(plan);
  if (!reads) environmentReadsByPlan.set(plan, (reads = findEnvironmentReads(plan)));
  return reads;
}

function findEnvironmentReads(plan: Plan): EnvironmentReads {
  const names = new Set(envNames(plan));
  const blocks = new Set<string>();
  let readsAll = false;
  for (const block of Object.values(plan.blocks)) {
    const mounted = mountedNames(block);
    if (mounted === 'all') readsAll = true;
    else for (const name of mounted) names.add(name);
    if (
      mounted === 'all' ||
      mounted.size > 0 ||
      templatesOf(block).some((template) => envNamesIn(template).length > 0)
    )
      blocks.add(block.id);
  }
  return { names: [...names].sort(), readsAll, blocks };
}

/** Returns the reason why the run cannot continue with the environment values `env`; undefined if it can. */
export function missingEnvironmentReason(
  header: RunHeader,
  env: { readonly [name: string]: string },
): string | undefined {
  const missing = header.env.filter((name) => !Object.hasOwn(env, name));
  if (missing.length === 0) return undefined;
  const placeholders = missing.map((name) => `{{${name}}}`).join(', ');
  return `The run needs a value for ${placeholders}: provide it and restart the engine.`;
}

/** Returns the inputs that the plan's start block declares. */
export function declaredInputs(plan: Plan): InputField[] {
  return inputFields(authoredValue(plan.blocks[plan.start]?.params['inputFormat']));
}

/** Returns the block with the id or name `reference`; names are compared as in references. Throws BLOCK_NOT_FOUND. */
export function findBlock(plan: Plan, reference: string): BlockConfig {
  const byId = Object.hasOwn(plan.blocks, reference) ? plan.blocks[reference] : undefined;
  const wantedName = normalizeName(reference);
  const match = byId ?? Object.values(plan.blocks).find((block) => normalizeName(block.name) === wantedName);
  if (match) return match;
  const names = Object.values(plan.blocks).map((block) => `"${block.name}"`);
  throw new EngineError(
    'BLOCK_NOT_FOUND',
    `The workflow "${plan.workflow.name}" has no block "${reference}". It has: ${names.join(', ')}.`,
    {
      details: { block: reference },
    },
  );
}
