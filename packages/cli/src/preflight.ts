import type { Json, Plan } from '@heddle/core';
import { isMocked, unusedMocks } from './input/mocks.ts';
import type { LocatedDiagnostic, WorkflowFile } from './input/workflow-file.ts';
import type { Io } from './io.ts';
import { blocksByEnvName } from './plan/references.ts';
import { formatCount } from './render/format.ts';
import { sanitizeLine, styleFor } from './render/style.ts';

export interface PreflightOptions {
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
export function printPreflightWarnings(io: Io, options: PreflightOptions): void {
  const style = styleFor(io.stderr);
  const lines = [...diagnosticWarnings(options), ...missingEnvWarnings(options), ...mockWarnings(options)];
  if (lines.length === 0) return;
  io.stderr.write(`${lines.map((line) => `${style.yellow('!')} ${line}`).join('\n')}\n`);
}

function diagnosticWarnings({ file, mocks }: PreflightOptions): string[] {
  const diagnostics = file.diagnostics.filter((diagnostic) => !isIgnoredForMock(diagnostic, file, mocks));
  const lines = diagnostics.slice(0, MAX_WARNINGS).map(({ message }) => sanitizeLine(message));
  const omittedCount = diagnostics.length - lines.length;
  if (omittedCount === 0) return lines;
  return [...lines, `… ${formatCount(omittedCount, 'more warning')}: heddle check ${file.file}`];
}

/** Diagnostics that do not matter for a mocked block. */
const IGNORED_FOR_MOCKS: ReadonlySet<string> = new Set([
  'BLOCK_TYPE_UNKNOWN',
  'FEATURE_MISSING',
  'FIELD_EMPTY',
]);

/** True if the diagnostic does not matter, because a mock replaces its block. */
function isIgnoredForMock(
  { code, blockId }: LocatedDiagnostic,
  { plan }: WorkflowFile,
  mocks: Json | undefined,
): boolean {
  const block = blockId === undefined ? undefined : plan?.blocks[blockId];
  return IGNORED_FOR_MOCKS.has(code) && block !== undefined && isMocked(block, mocks);
}

/** Returns each `{{NAME}}` without a value, with the blocks that use it. */
function missingEnvWarnings({ plan, env, mocks }: PreflightOptions): string[] {
  if (!env) return [];
  return [...blocksByEnvName(plan)].flatMap(([name, blocks]) => {
    const unmockedBlocks = blocks.filter((block) => !isMocked(block, mocks));
    if (Object.hasOwn(env, name) || unmockedBlocks.length === 0) return [];
    const names = unmockedBlocks.map((block) => `"${sanitizeLine(block.name)}"`).join(', ');
    return [
      `{{${sanitizeLine(name)}}} has no value, so ${names} will get the placeholder itself. Set it: --env ${name}=VALUE`,
    ];
  });
}

function mockWarnings({ plan, mocks, workflows, mock }: PreflightOptions): string[] {
  // The mocks may be for blocks of child workflows.
  if (workflows !== undefined) return [];
  const { blocks, types } = unusedMocks(plan, mocks);
  // A mock file may serve several workflows; an option is for this workflow.
  const optionTypes = types.filter((type) => mock.some((pair) => pair.startsWith(`${type}=`)));
  const allTypes = [...new Set(Object.values(plan.blocks).map(({ type }) => type))].join(', ');
  return [
    ...blocks.map((name) => `The mocks name the unknown block "${sanitizeLine(name)}".`),
    ...optionTypes.map(
      (type) =>
        `The mocks name the type "${sanitizeLine(type)}", which no block has. The types are ${allTypes}.`,
    ),
  ];
}
