import type { Plan } from '@heddle/core';
import type { RunDetail, RunResource } from '@heddle/engine';
import { shortId } from '../run-id.ts';
import { runsCommand } from './commands.ts';
import type { CommandContext } from './commands.ts';
import { failureLines } from './failure.ts';
import { formatDuration, formatCount } from './format.ts';
import { pauseLines } from './pauses.ts';
import { sanitizeLine } from './style.ts';
import type { Style } from './style.ts';

export interface OutcomeContext extends CommandContext {
  plan: Plan;
  file: string | undefined;
  style: Style;
  /** Number of ended blocks, if known. */
  endedBlockCount?: number;
  pauses: RunDetail['pauses'];
  /** Reason of the cancellation, if known. */
  cancelReason?: string | null;
  /** The reason why the run cannot continue now. */
  suspended: string | null;
}

/** Returns the last lines about a run: how it ended, and what the user can do next. */
export function outcomeLines(run: RunResource, context: OutcomeContext): string[] {
  const { style } = context;
  const runLabel = style.dim(`  run ${shortId(run.runId)}`);
  const durationText = run.durationMs === null ? '' : formatDuration(run.durationMs);
  switch (statusOf(run, context)) {
    case 'completed':
      return [
        `${style.green('✓')} ${style.bold('Completed')} in ${durationText}${blockCountText(context)}${runLabel}`,
      ];
    case 'failed':
      return [
        `${style.red('✗')} ${style.bold('Failed')} after ${durationText}${blockCountText(context)}${runLabel}`,
        ...(run.error ? failureLines(run.error, context) : []),
      ];
    case 'cancelled':
      return [
        `${style.yellow('○')} ${style.bold('Cancelled')}${durationText === '' ? '' : ` after ${durationText}`}${blockCountText(context)}${cancelText(context)}${runLabel}`,
      ];
    case 'paused':
      return [
        `${style.yellow('‖')} ${style.bold('Paused')}: waits for a person${runLabel}`,
        ...pauseLines(context.pauses, context),
      ];
    default:
      return [
        `${style.yellow('‖')} ${style.bold('Not finished')}: ${context.suspended ?? 'no process executes it now'}${runLabel}`,
        `  ${style.cyan('→')} ${runsCommand('resume', context, ...(context.blockArgs ?? []))}`,
      ];
  }
}

/** Returns the status to show. A paused run that only waits until a set time counts as running: it needs no answer. */
function statusOf({ status }: RunResource, { pauses }: OutcomeContext): RunResource['status'] {
  const needsAnswer = pauses.some(({ kind }) => kind === 'human');
  return status === 'paused' && !needsAnswer ? 'running' : status;
}

function cancelText({ cancelReason = null }: OutcomeContext): string {
  return cancelReason === null ? '' : `: ${sanitizeLine(cancelReason)}`;
}

function blockCountText({ endedBlockCount: count }: OutcomeContext): string {
  return count === undefined || count === 0 ? '' : `, ${formatCount(count, 'block')}`;
}
