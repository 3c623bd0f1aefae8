import type { Json, Plan } from '@heddle/core';
import { isMocked, unused } from './input/mocks.ts';
import type { PlacedDiagnostic, WorkflowFile } from './input/workflow-file.ts';
import type { Io } from './io.ts';
import { envUsers } from './plan/templates.ts';
import { plural } from './render/format.ts';
import { safeLine, styleFor } from './render/style.ts';

export interface PreflightParts {
  file: WorkflowFile;
  plan: Plan;
  /** Undefined: the blocks run elsewhere, with values that are not known here. */
  env: { readonly [name: string]: string } | undefined;
  mocks: Json | undefined;
  workflows?: string;
  /** Mocks that were given one by one, as `TYPE=JSON`. */
  mock: readonly string[];
}

const MOST_WARNINGS = 5;

/** Says on stderr, before a run starts, what is likely to go wrong in it. */
export function preflight(io: Io, parts: PreflightParts): void {
  const style = styleFor(io.stderr);
  const lines = [...warnings(parts), ...missingEnv(parts), ...unusedMocks(parts)];
  if (lines.length === 0) return;
  io.stderr.write(`${lines.map((line) => `${style.yellow('!')} ${line}`).join('\n')}\n`);
}

function warnings({ file, mocks }: PreflightParts): string[] {
  const left = file.diagnostics.filter((diagnostic) => !isSettled(diagnostic, file, mocks));
  const shown = left.slice(0, MOST_WARNINGS).map(({ message }) => safeLine(message));
  const rest = left.length - shown.length;
  return rest > 0 ? [...shown, `… ${plural(rest, 'more warning')}: heddle check ${file.file}`] : shown;
}

/** A type that nothing runs is no trouble where it is mocked. */
function isSettled(
  { code, blockId }: PlacedDiagnostic,
  { plan }: WorkflowFile,
  mocks: Json | undefined,
): boolean {
  const block = blockId === undefined ? undefined : plan?.blocks[blockId];
  return code === 'BLOCK_TYPE_UNKNOWN' && block !== undefined && isMocked(block, mocks);
}

/** `{{NAME}}`s without a value, each with the blocks that will miss it. */
function missingEnv({ plan, env, mocks }: PreflightParts): string[] {
  if (!env) return [];
  return [...envUsers(plan)].flatMap(([name, users]) => {
    const real = users.filter((block) => !isMocked(block, mocks));
    if (Object.hasOwn(env, name) || real.length === 0) return [];
    const names = real.map((block) => `"${safeLine(block.name)}"`).join(', ');
    return [
      `{{${safeLine(name)}}} has no value, and ${names} will get it as this text. Give it: --env ${name}=VALUE`,
    ];
  });
}

function unusedMocks({ plan, mocks, workflows, mock }: PreflightParts): string[] {
  // A child workflow may have what this one has not.
  if (workflows !== undefined) return [];
  const { blocks, types } = unused(plan, mocks);
  // A file of mocks is written for several workflows, an option for this one.
  const given = types.filter((type) => mock.some((pair) => pair.startsWith(`${type}=`)));
  const present = [...new Set(Object.values(plan.blocks).map(({ type }) => type))].join(', ');
  return [
    ...blocks.map(
      (name) => `The mocks name a block "${safeLine(name)}", and the workflow has none of that name.`,
    ),
    ...given.map(
      (type) => `The mocks name the type "${safeLine(type)}", and no block has it: there are ${present}.`,
    ),
  ];
}
