import type { Json, Plan } from '@heddle/core';
import type { ShownLog } from '@heddle/engine/visit';
import { pathOf } from '../live/block-lines.ts';
import { duration } from './format.ts';
import { safeLine } from './style.ts';
import type { Style } from './style.ts';
import { clip } from './table.ts';

const WIDEST_NAME = 44;
const WIDEST_VALUE = 72;

/** Rows of a table of block logs: order, mark, block with its turns, time, and the beginning of what it gave. */
export function logRows(logs: readonly ShownLog[], plan: Plan, style: Style): string[][] {
  return logs.map((log) => [
    style.dim(String(log.executionOrder)),
    mark(log, style),
    clip(pathOf({ ...log, input: undefined, output: undefined }, plan), WIDEST_NAME),
    style.dim(log.durationMs === undefined ? '' : duration(log.durationMs)),
    said(log, style),
  ]);
}

function mark(log: ShownLog, style: Style): string {
  switch (log.status) {
    case 'completed':
      return style.green('✓');
    case 'failed':
      return log.errorHandled ? style.yellow('!') : style.red('✗');
    case 'paused':
      return style.yellow('‖');
    case 'cancelled':
      return style.yellow('○');
    case 'running':
      return style.cyan('…');
  }
}

function said(log: ShownLog, style: Style): string {
  if (log.error) return style.red(clip(safeLine(log.error.message), WIDEST_VALUE));
  return log.status === 'completed' ? style.dim(clip(brief(log.output), WIDEST_VALUE)) : '';
}

function brief(value: Json): string {
  return safeLine(JSON.stringify(value)).slice(0, WIDEST_VALUE * 4);
}
