import type { Json, Plan } from '@heddle/core';
import type { LogDetail } from '@heddle/engine/reader';
import { pathOf } from '../live/block-lines.ts';
import { formatDuration } from './format.ts';
import { sanitizeLine } from './style.ts';
import type { Style } from './style.ts';
import { truncate } from './table.ts';

const NAME_WIDTH = 44;
const VALUE_WIDTH = 72;

/** A block log, and whether its block is mocked. */
export type LogWithMockFlag = LogDetail & { mocked: boolean };

/** Returns the table rows of block logs: order, status, block with its iterations, duration, and output. */
export function logRows(logs: readonly LogWithMockFlag[], plan: Plan, style: Style): string[][] {
  return logs.map((log) => [
    style.dim(String(log.executionOrder)),
    statusSymbol(log, style),
    truncate(pathOf({ ...log, input: undefined, output: undefined }, plan), NAME_WIDTH),
    style.dim(log.durationMs === undefined ? '' : formatDuration(log.durationMs)),
    log.mocked ? `${style.yellow('mocked')} ${mockedText(log, style)}` : resultText(log, style),
  ]);
}

function statusSymbol(log: LogDetail, style: Style): string {
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

function resultText(log: LogDetail, style: Style): string {
  if (log.error) return style.red(truncate(sanitizeLine(log.error.message), VALUE_WIDTH));
  return log.status === 'completed' ? style.dim(truncate(compactJson(log.output), VALUE_WIDTH)) : '';
}

/** Returns the input of the block, and the output of the mock. */
function mockedText(log: LogDetail, style: Style): string {
  return `${style.dim(`${truncate(compactJson(log.input), VALUE_WIDTH)} →`)} ${resultText(log, style)}`.trimEnd();
}

function compactJson(value: Json): string {
  return sanitizeLine(JSON.stringify(value)).slice(0, VALUE_WIDTH * 4);
}
