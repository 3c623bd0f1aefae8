import type { BlockConfig, Json, Plan } from '@heddle/core';
import { isJsonObject, own } from '@heddle/core/blocks';
import type { RunResource } from '@heddle/engine';
import { codeFrame } from './code-frame.ts';
import { runsCommand } from './commands.ts';
import type { CommandContext } from './commands.ts';
import { shellQuote } from './format.ts';
import { safe, safeLine } from './style.ts';
import type { Style } from './style.ts';

export interface FailureContext extends CommandContext {
  plan: Plan;
  /** The file the workflow came from, when there is one. */
  file: string | undefined;
  style: Style;
}

/** Why a run failed: block, code, message, the authored lines around the fault, and what to do now. */
export function failureLines(error: NonNullable<RunResource['error']>, context: FailureContext): string[] {
  const { style, plan } = context;
  const details = isJsonObject(error.details) ? error.details : {};
  const blockId = textAt(details, 'blockId');
  const block = blockId === undefined ? undefined : plan.blocks[blockId];
  const where = block ? `${safeLine(block.name)} (${block.type})` : '';
  return [
    '',
    ...(where === '' ? [] : [`  ${style.dim('block')}  ${style.bold(where)}${turnText(details, context)}`]),
    `  ${style.dim('code')}   ${error.code}`,
    ...labelled('error', safe(error.message), style),
    ...codeFrame(block?.code?.authored, own(details, 'line'), style),
    '',
    ...hints(error, details, context).map((hint) => `  ${style.cyan('→')} ${hint}`),
  ];
}

function labelled(label: string, text: string, style: Style): string[] {
  const [first = '', ...more] = text.split('\n');
  return [`  ${style.dim(label)}  ${style.red(first)}`, ...more.map((line) => `         ${style.red(line)}`)];
}

/** ` in turn 3 of Each Item`, for a block inside containers. */
function turnText(details: { [key: string]: Json }, { plan, style }: FailureContext): string {
  const scope = own(details, 'scope');
  const containers = plan.blocks[textAt(details, 'blockId') ?? '']?.containers ?? [];
  if (!Array.isArray(scope)) return '';
  const turns = scope.map((turn, depth) => {
    const container = plan.blocks[containers[depth] ?? ''];
    return `${safeLine(container?.name ?? '')} ${Number(turn) + 1}`;
  });
  return style.dim(`  in ${turns.join(' › ')}`);
}

function hints(
  error: NonNullable<RunResource['error']>,
  details: { [key: string]: Json },
  context: FailureContext,
): string[] {
  const { plan, style } = context;
  const block = plan.blocks[textAt(details, 'blockId') ?? ''];
  const known = SPECIAL[textAt(details, 'reason') ?? ''] ?? SPECIAL[error.code];
  return [
    ...(known ? [known(block?.type ?? 'TYPE')] : []),
    `${runsCommand('show', context)}  ${style.dim('what each block got and gave')}`,
    ...(block ? rerunHint(block, context) : []),
  ];
}

/** The command that goes on at the block, or at the container around it; a run cannot go on at its trigger. */
function rerunHint({ id, containers }: BlockConfig, context: FailureContext): string[] {
  const { plan, file, style, blockWords = [] } = context;
  const restart = plan.blocks[containers[0] ?? id];
  if (!restart || restart.trigger) return [];
  const changed = file === undefined || file === '-' ? [] : [file];
  const command = runsCommand('rerun', context, '--from', restart.name, ...changed, ...blockWords);
  return [`${command}  ${style.dim('goes on from here after a change')}`];
}

const SPECIAL: { [code: string]: ((type: string) => string) | undefined } = {
  BLOCK_TYPE_UNKNOWN: (type) =>
    `Nothing runs "${type}" blocks yet. Script what they give: --mock ${shellQuote(type)}='{"ok": true}'`,
  CHILD_NOT_FOUND: () => 'Name the folder that holds the child workflow: --workflows DIR',
  RESULT_TOO_LARGE: () => 'Allow larger results: --result-limit MIB',
  INPUT_TOO_LARGE: () => 'Allow more values for code: --result-limit MIB',
  RUN_TIMEOUT: () => 'Give it more time with --timeout SECONDS.',
  LOOP_LIMIT: () => 'A loop went on for too many turns: does its condition ever become false?',
};

function textAt(details: { [key: string]: Json }, key: string): string | undefined {
  const value = own(details, key);
  return typeof value === 'string' ? value : undefined;
}
