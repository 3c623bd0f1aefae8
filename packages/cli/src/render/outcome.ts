import type { Plan } from '@heddle/core';
import type { RunDetail, RunResource } from '@heddle/engine';
import { shortId } from '../run-id.ts';
import { runsCommand } from './commands.ts';
import type { CommandContext } from './commands.ts';
import { failureLines } from './failure.ts';
import { duration, plural } from './format.ts';
import { pauseLines } from './pauses.ts';
import { safeLine } from './style.ts';
import type { Style } from './style.ts';

export interface OutcomeContext extends CommandContext {
  plan: Plan;
  file: string | undefined;
  style: Style;
  /** Blocks that have ended, when they were counted. */
  blocks?: number;
  pauses: RunDetail['pauses'];
  /** Why it was cancelled, where a reason is known. */
  cancelReason?: string | null;
  /** Why the run stands still though it should move. */
  suspended: string | null;
}

/** The last words on a run, for people: how it ended, and what they can do now. */
export function outcomeLines(run: RunResource, context: OutcomeContext): string[] {
  const { style } = context;
  const id = style.dim(`  run ${shortId(run.runId)}`);
  const took = run.durationMs === null ? '' : duration(run.durationMs);
  switch (standing(run, context)) {
    case 'completed':
      return [`${style.green('✓')} ${style.bold('Completed')} in ${took}${blocks(context)}${id}`];
    case 'failed':
      return [
        `${style.red('✗')} ${style.bold('Failed')} after ${took}${blocks(context)}${id}`,
        ...(run.error ? failureLines(run.error, context) : []),
      ];
    case 'cancelled':
      return [
        `${style.yellow('○')} ${style.bold('Cancelled')}${took === '' ? '' : ` after ${took}`}${blocks(context)}${reason(context)}${id}`,
      ];
    case 'paused':
      return [
        `${style.yellow('‖')} ${style.bold('Paused')}: a person is needed${id}`,
        ...pauseLines(context.pauses, context),
      ];
    default:
      return [
        `${style.yellow('‖')} ${style.bold('Not finished')}: ${context.suspended ?? 'nobody runs it now'}${id}`,
        `  ${style.cyan('→')} ${runsCommand('resume', context, ...(context.blockWords ?? []))}`,
      ];
  }
}

/** A run that waits for a time and is followed by nobody does not wait for a person. */
function standing({ status }: RunResource, { pauses }: OutcomeContext): RunResource['status'] {
  const asks = pauses.some(({ kind }) => kind === 'human');
  return status === 'paused' && !asks ? 'running' : status;
}

function reason({ cancelReason = null }: OutcomeContext): string {
  return cancelReason === null ? '' : `: ${safeLine(cancelReason)}`;
}

function blocks({ blocks: count }: OutcomeContext): string {
  return count === undefined || count === 0 ? '' : `, ${plural(count, 'block')}`;
}
