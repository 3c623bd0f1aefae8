import type { Json, Plan } from '@heddle/core';
import type { LogDetail, ObservedRun } from '@heddle/engine/reader';
import { EXIT } from '../exit-code.ts';
import { isMocked } from '../input/mocks.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { withReader } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { failureLines } from '../render/failure.ts';
import { formatLocalTime, formatDuration, formatCount } from '../render/format.ts';
import { runsCommand } from '../render/commands.ts';
import { logRows } from '../render/logs.ts';
import type { LogWithMockFlag } from '../render/logs.ts';
import { pauseLines } from '../render/pauses.ts';
import { statusText } from '../render/status.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import { findRunId, shortId } from '../run-id.ts';

export interface ShowOptions extends StoreOptions {
  json: boolean;
}

const MAX_LOGS = 60;

/** Shows a run with its blocks, even while another process executes it. */
export async function showRun(io: Io, id: string, options: ShowOptions): Promise<number> {
  const details = await withReader(options, async (reader) => {
    const runId = await findRunId(reader, id, options);
    const [run, logs, plan, mocks] = await Promise.all([
      reader.getRun(runId),
      reader.getLogs(runId),
      reader.planOf(runId),
      reader.mocksOf(runId),
    ]);
    const cancelReason = run.status === 'cancelled' ? ((await reader.cancelReason(runId)) ?? null) : null;
    return { run: { ...run, cancelReason }, logs: markMocked(logs, mocks), plan };
  });
  if (options.json) writeJson(io, { data: { ...details.run, logs: details.logs } });
  else report(io, details, options);
  return EXIT.completed;
}

type RunWithCancelReason = ObservedRun & { cancelReason: string | null };

/** Returns the logs, each with a mark if its block is mocked. */
function markMocked(logs: readonly LogDetail[], mocks: Json): LogWithMockFlag[] {
  return logs.map((log) => {
    const { blockId: id, blockName: name, blockType: type } = log;
    return { ...log, mocked: isMocked({ id, name, type }, mocks) };
  });
}

function report(
  io: Io,
  { run, logs, plan }: { run: RunWithCancelReason; logs: LogWithMockFlag[]; plan: Plan },
  options: ShowOptions,
): void {
  const style = styleFor(io.stdout);
  const context = { ...options, runId: run.runId, plan, file: undefined, style };
  const listedLogs = logs.slice(0, MAX_LOGS);
  const omittedCount = logs.length - listedLogs.length;
  const command = `heddle runs show ${shortId(run.runId)} --json`;
  const omission = `… ${formatCount(omittedCount, 'more block log')}: ${command}`;
  const lines = [
    `${style.bold(sanitizeLine(run.workflowName))}${style.dim(`  ${sanitizeLine(run.workflowId)}`)}`,
    ...tableLines(propertyRows(run, style)),
    '',
    ...tableLines(logRows(listedLogs, plan, style)),
    ...(omittedCount > 0 ? [style.dim(omission)] : []),
    ...(run.error ? failureLines(run.error, context) : []),
    ...(run.status === 'paused' ? pauseLines(run.pauses, context) : []),
    ...(run.interrupted ? ['', `${style.cyan('→')} ${runsCommand('resume', context)}`] : []),
    ...(run.status === 'completed' ? ['', style.dim('output'), JSON.stringify(run.output, null, 2)] : []),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

function propertyRows(run: RunWithCancelReason, style: Style): string[][] {
  const startedAt = run.startedAt ?? run.createdAt;
  return [
    ['run', run.runId],
    ['X-Run-Id', run.callerId === null ? '' : sanitizeLine(run.callerId)],
    ['status', statusText(run, style)],
    ['reason', run.cancelReason === null ? '' : sanitizeLine(run.cancelReason)],
    ['started', formatLocalTime(Date.parse(startedAt))],
    ['took', run.durationMs === null ? '' : formatDuration(run.durationMs)],
    ['parent', run.parentRunId ?? ''],
    ['suspended', run.suspended === null ? '' : sanitizeLine(run.suspended)],
  ]
    .filter(([, value]) => value !== '')
    .map(([name = '', value = '']) => [style.dim(name), value]);
}
