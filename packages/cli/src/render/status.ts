import type { RunDetail } from '@heddle/engine';
import type { ObservedRun } from '@heddle/engine/reader';
import { formatLocalTime } from './format.ts';
import type { Style } from './style.ts';

/** Returns a run's status in colour, with what it waits for, and a mark if its process died. */
export function statusText(
  run: Pick<ObservedRun, 'status' | 'pauseKind' | 'pauses' | 'interrupted'>,
  style: Style,
): string {
  const text = colouredStatus(run, style);
  return run.interrupted ? `${text} ${style.yellow('(interrupted)')}` : text;
}

function colouredStatus(run: Pick<RunDetail, 'status' | 'pauseKind' | 'pauses'>, style: Style): string {
  switch (run.status) {
    case 'completed':
      return style.green('completed');
    case 'failed':
      return style.red('failed');
    case 'paused':
      return style.yellow(`paused: ${pauseText(run)}`);
    case 'cancelled':
      return style.yellow('cancelled');
    default:
      return style.cyan(run.status);
  }
}

function pauseText({ pauseKind, pauses }: Pick<RunDetail, 'pauseKind' | 'pauses'>): string {
  if (pauseKind === 'human') return 'waits for a person';
  const dueTimes = pauses.flatMap(({ resumesAt }) => (resumesAt === null ? [] : [Date.parse(resumesAt)]));
  return dueTimes.length === 0
    ? 'waits'
    : `until ${formatLocalTime(dueTimes.reduce((earliest, dueTime) => Math.min(earliest, dueTime)))}`;
}
