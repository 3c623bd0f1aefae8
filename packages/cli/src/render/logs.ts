import type { Json, Plan } from '@heddle/core';
import type { LogDetail } from '@heddle/engine/reader';
import { pathOf } from '../live/block-lines.ts';
import { duration } from './format.ts';
import { safeLine } from './style.ts';
import type { Style } from './style.ts';
import { clip } from './table.ts';

const WIDEST_NAME = 44;
const WIDEST_VALUE = 72;

/** A log, with whether a mock stood in for the block. */
export type MarkedLog = LogDetail & { mocked: boolean };

/** Rows of a table of block logs: order, mark, block with its turns, time, and the beginning of what it gave. */
export function logRows(logs: readonly MarkedLog[], plan: Plan, style: Style): string[][] {
  return logs.map((log) => [
    style.dim(String(log.executionOrder)),
    mark(log, style),
    clip(pathOf({ ...log, input: undefined, output: undefined }, plan), WIDEST_NAME),
    style.dim(log.durationMs === undefined ? '' : duration(log.durationMs)),
    log.mocked ? `${style.yellow('mocked')} ${mockedText(log, style)}` : said(log, style),
  ]);
}

function mark(log: LogDetail, style: Style): string {
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

function said(log: LogDetail, style: Style): string {
  if (log.error) return style.red(clip(safeLine(log.error.message), WIDEST_VALUE));
  return log.status === 'completed' ? style.dim(clip(brief(log.output), WIDEST_VALUE)) : '';
}

/** What the block would have got, and what the mock gave in its place. */
function mockedText(log: LogDetail, style: Style): string {
  return `${style.dim(`${clip(brief(log.input), WIDEST_VALUE)} →`)} ${said(log, style)}`.trimEnd();
}

function brief(value: Json): string {
  return safeLine(JSON.stringify(value)).slice(0, WIDEST_VALUE * 4);
}
