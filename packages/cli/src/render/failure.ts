import type { BlockConfig, Json, Plan } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { RunResource } from '@heddle/engine';
import { codeFrame } from './code-frame.ts';
import { runsCommand } from './commands.ts';
import type { CommandContext } from './commands.ts';
import { shellQuote } from './format.ts';
import { sanitize, sanitizeLine } from './style.ts';
import type { Style } from './style.ts';

export interface FailureContext extends CommandContext {
  plan: Plan;
  /** The workflow's file, if there is one. */
  file: string | undefined;
  style: Style;
}

/** Returns why a run failed: block, code, message, the authored lines around the error, and hints. */
export function failureLines(error: NonNullable<RunResource['error']>, context: FailureContext): string[] {
  const { style, plan } = context;
  const details = isJsonObject(error.details) ? error.details : {};
  const blockId = textAt(details, 'blockId');
  const block = blockId === undefined ? undefined : plan.blocks[blockId];
  const location = block ? `${sanitizeLine(block.name)} (${block.type})` : '';
  return [
    '',
    ...(location === ''
      ? []
      : [`  ${style.dim('block')}  ${style.bold(location)}${iterationText(details, context)}`]),
    `  ${style.dim('code')}   ${error.code}`,
    ...labelLines('error', sanitize(error.message), style),
    ...codeFrame(block?.code?.authored, getOwn(details, 'line'), style),
    '',
    ...hints(error, details, context).map((hint) => `  ${style.cyan('→')} ${hint}`),
  ];
}

function labelLines(label: string, text: string, style: Style): string[] {
  const [firstLine = '', ...otherLines] = text.split('\n');
  return [
    `  ${style.dim(label)}  ${style.red(firstLine)}`,
    ...otherLines.map((line) => `         ${style.red(line)}`),
  ];
}

/** Returns text such as `  in Each Item 3`, for a block in containers. */
function iterationText(details: { [key: string]: Json }, { plan, style }: FailureContext): string {
  const scope = getOwn(details, 'scope');
  const containers = plan.blocks[textAt(details, 'blockId') ?? '']?.containers ?? [];
  if (!Array.isArray(scope)) return '';
  const iterations = scope.map((iteration, depth) => {
    const container = plan.blocks[containers[depth] ?? ''];
    return `${sanitizeLine(container?.name ?? '')} ${Number(iteration) + 1}`;
  });
  return style.dim(`  in ${iterations.join(' › ')}`);
}

function hints(
  error: NonNullable<RunResource['error']>,
  details: { [key: string]: Json },
  context: FailureContext,
): string[] {
  const { plan, style } = context;
  const block = plan.blocks[textAt(details, 'blockId') ?? ''];
  const hintOf = HINTS[textAt(details, 'reason') ?? ''] ?? HINTS[error.code];
  return [
    ...(hintOf ? [hintOf(block?.type ?? 'TYPE')] : []),
    `${runsCommand('show', context)}  ${style.dim('shows what each block did')}`,
    ...(block ? rerunHint(block, context) : []),
  ];
}

/** Returns the command that reruns from the block, or from its outermost container; none for a trigger. */
function rerunHint({ id, containers }: BlockConfig, context: FailureContext): string[] {
  const { plan, file, style, blockArgs = [] } = context;
  const rerunBlock = plan.blocks[containers[0] ?? id];
  if (!rerunBlock || rerunBlock.trigger) return [];
  const fileArgs = file === undefined || file === '-' ? [] : [file];
  const command = runsCommand('rerun', context, '--from', rerunBlock.name, ...fileArgs, ...blockArgs);
  return [`${command}  ${style.dim('reruns from this block after a change')}`];
}

/** Hints by the reason or the code of an error. */
const HINTS: { [code: string]: ((type: string) => string) | undefined } = {
  BLOCK_TYPE_UNKNOWN: (type) =>
    `No executor runs "${type}" blocks. Mock their output: --mock ${shellQuote(type)}='{"ok": true}'`,
  CHILD_NOT_FOUND: () => 'Set the folder of the child workflows: --workflows DIR',
  RESULT_TOO_LARGE: () => 'Allow larger results: --result-limit MIB',
  INPUT_TOO_LARGE: () => 'Allow larger inputs of code: --result-limit MIB',
  RUN_TIMEOUT: () => 'Raise the time limit: --timeout SECONDS',
  LOOP_LIMIT: () => 'A loop has too many iterations. Check that its condition becomes false.',
};

function textAt(details: { [key: string]: Json }, key: string): string | undefined {
  const value = getOwn(details, key);
  return typeof value === 'string' ? value : undefined;
}
