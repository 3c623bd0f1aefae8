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
  /** Undefined if the blocks run in other processes, whose values are unknown here. */
  env: { readonly [name: string]: string } | undefined;
  mocks: Json | undefined;
  workflows?: string;
  /** Values of --mock: `TYPE=JSON`. */
  mock: readonly string[];
}

const MAX_WARNINGS = 5;

/** Prints likely problems of a run to stderr before it starts. */
export function preflight(io: Io, parts: PreflightParts): void {
  const style = styleFor(io.stderr);
  const lines = [...warnings(parts), ...missingEnv(parts), ...unusedMocks(parts)];
  if (lines.length === 0) return;
  io.stderr.write(`${lines.map((line) => `${style.yellow('!')} ${line}`).join('\n')}\n`);
}

function warnings({ file, mocks }: PreflightParts): string[] {
  const left = file.diagnostics.filter((diagnostic) => !isSettled(diagnostic, file, mocks));
  const shown = left.slice(0, MAX_WARNINGS).map(({ message }) => safeLine(message));
  const rest = left.length - shown.length;
  return rest > 0 ? [...shown, `… ${plural(rest, 'more warning')}: heddle check ${file.file}`] : shown;
}

/** Problems of a block that a mock replaces. */
const SETTLED_BY_MOCKS: ReadonlySet<string> = new Set([
  'BLOCK_TYPE_UNKNOWN',
  'FEATURE_MISSING',
  'FIELD_EMPTY',
]);

/** True for a problem of a mocked block, whose missing parts do not matter. */
function isSettled(
  { code, blockId }: PlacedDiagnostic,
  { plan }: WorkflowFile,
  mocks: Json | undefined,
): boolean {
  const block = blockId === undefined ? undefined : plan?.blocks[blockId];
  return SETTLED_BY_MOCKS.has(code) && block !== undefined && isMocked(block, mocks);
}

/** Returns each `{{NAME}}` without a value, with the blocks that use it. */
function missingEnv({ plan, env, mocks }: PreflightParts): string[] {
  if (!env) return [];
  return [...envUsers(plan)].flatMap(([name, users]) => {
    const real = users.filter((block) => !isMocked(block, mocks));
    if (Object.hasOwn(env, name) || real.length === 0) return [];
    const names = real.map((block) => `"${safeLine(block.name)}"`).join(', ');
    return [
      `{{${safeLine(name)}}} has no value, so ${names} will get this text itself. Set it: --env ${name}=VALUE`,
    ];
  });
}

function unusedMocks({ plan, mocks, workflows, mock }: PreflightParts): string[] {
  // The mocks may be for blocks of child workflows.
  if (workflows !== undefined) return [];
  const { blocks, types } = unused(plan, mocks);
  // A file of mocks may serve several workflows; an option is for this workflow.
  const given = types.filter((type) => mock.some((pair) => pair.startsWith(`${type}=`)));
  const present = [...new Set(Object.values(plan.blocks).map(({ type }) => type))].join(', ');
  return [
    ...blocks.map((name) => `The mocks name a block "${safeLine(name)}", which the workflow does not have.`),
    ...given.map(
      (type) => `The mocks name the type "${safeLine(type)}", which no block has. The types are ${present}.`,
    ),
  ];
}
