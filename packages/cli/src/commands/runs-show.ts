import type { Json, Plan } from '@heddle/core';
import type { LogDetail, ShownRun } from '@heddle/engine/reader';
import { EXIT } from '../exit-code.ts';
import { isMocked } from '../input/mocks.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { withReader } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { failureLines } from '../render/failure.ts';
import { localTime, duration, plural } from '../render/format.ts';
import { runsCommand } from '../render/commands.ts';
import { logRows } from '../render/logs.ts';
import type { MarkedLog } from '../render/logs.ts';
import { pauseLines } from '../render/pauses.ts';
import { statusText } from '../render/status.ts';
import { safeLine, styleFor } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { table } from '../render/table.ts';
import { findRunId, shortId } from '../run-id.ts';

export interface ShowOptions extends StoreOptions {
  json: boolean;
}

const MAX_LOGS = 60;

/** Shows a run with its blocks, even while another process executes it. */
export async function showRun(io: Io, given: string, options: ShowOptions): Promise<number> {
  const found = await withReader(options, async (reader) => {
    const runId = await findRunId(reader, given, options);
    const [run, logs, plan, mocks] = await Promise.all([
      reader.getRun(runId),
      reader.getLogs(runId),
      reader.planOf(runId),
      reader.mocksOf(runId),
    ]);
    const cancelReason = run.status === 'cancelled' ? ((await reader.cancelReason(runId)) ?? null) : null;
    return { run: { ...run, cancelReason }, logs: marked(logs, mocks), plan };
  });
  if (options.json) writeJson(io, { data: { ...found.run, logs: found.logs } });
  else report(io, found, options);
  return EXIT.completed;
}

type Found = ShownRun & { cancelReason: string | null };

/** Returns the logs, with a mark on mocked blocks. */
function marked(logs: readonly LogDetail[], mocks: Json): MarkedLog[] {
  return logs.map((log) => {
    const { blockId: id, blockName: name, blockType: type } = log;
    return { ...log, mocked: isMocked({ id, name, type }, mocks) };
  });
}

function report(
  io: Io,
  { run, logs, plan }: { run: Found; logs: MarkedLog[]; plan: Plan },
  options: ShowOptions,
): void {
  const style = styleFor(io.stdout);
  const context = { ...options, runId: run.runId, plan, file: undefined, style };
  const shown = logs.slice(0, MAX_LOGS);
  const rest = logs.length - shown.length;
  const lines = [
    `${style.bold(safeLine(run.workflowName))}${style.dim(`  ${safeLine(run.workflowId)}`)}`,
    ...table(facts(run, style)),
    '',
    ...table(logRows(shown, plan, style)),
    ...(rest > 0
      ? [style.dim(`… ${plural(rest, 'more block')}: heddle runs show ${shortId(run.runId)} --json`)]
      : []),
    ...(run.error ? failureLines(run.error, context) : []),
    ...(run.status === 'paused' ? pauseLines(run.pauses, context) : []),
    ...(run.interrupted ? ['', `${style.cyan('→')} ${runsCommand('resume', context)}`] : []),
    ...(run.status === 'completed' ? ['', style.dim('output'), JSON.stringify(run.output, null, 2)] : []),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

function facts(run: Found, style: Style): string[][] {
  const started = run.startedAt ?? run.createdAt;
  return [
    ['run', run.runId],
    ['X-Run-Id', run.callerId === null ? '' : safeLine(run.callerId)],
    ['status', statusText(run, style)],
    ['reason', run.cancelReason === null ? '' : safeLine(run.cancelReason)],
    ['started', localTime(Date.parse(started))],
    ['took', run.durationMs === null ? '' : duration(run.durationMs)],
    ['parent', run.parentRunId ?? ''],
    ['waiting', run.suspended === null ? '' : safeLine(run.suspended)],
  ]
    .filter(([, value]) => value !== '')
    .map(([name = '', value = '']) => [style.dim(name), value]);
}
