import type { RunListQuery } from '@heddle/engine';
import type { ObservedRun } from '@heddle/engine/reader';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { storeName, withReader } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { formatDuration, formatLocalTime } from '../render/format.ts';
import { statusText } from '../render/status.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { truncate, writeTable } from '../render/table.ts';
import { shortId } from '../run-id.ts';

export interface ListOptions extends StoreOptions {
  status: NonNullable<RunListQuery['status']>;
  workflow?: string;
  limit: number;
  cursor?: string;
  json: boolean;
}

const NAME_WIDTH = 32;

/** Lists recorded runs, newest first. */
export async function listRuns(io: Io, options: ListOptions): Promise<number> {
  const { status, workflow, limit, cursor } = options;
  const page = await withReader(options, (reader) =>
    reader.listRuns({
      limit,
      ...(status.length > 0 && { status }),
      ...(workflow !== undefined && { workflowId: workflow }),
      ...(cursor !== undefined && { cursor }),
    }),
  );
  if (options.json) writeJson(io, { data: page.runs, nextCursor: page.nextCursor });
  else report(io, page, options);
  return EXIT.completed;
}

function report(
  io: Io,
  page: { runs: ObservedRun[]; nextCursor: string | null },
  options: ListOptions,
): void {
  const style = styleFor(io.stdout);
  if (page.runs.length === 0) {
    const isFiltered = options.status.length > 0 || options.workflow !== undefined;
    io.stderr.write(`No ${isFiltered ? 'such ' : ''}runs in ${storeName(options)}.\n`);
    return;
  }
  const rows = page.runs.map((run) => rowOf(run, style));
  writeTable(io, ['RUN', 'WORKFLOW', 'STATUS', 'STARTED', 'DURATION'], rows);
  if (page.nextCursor !== null) {
    const nextPageOption =
      options.cursor === undefined ? `--limit ${options.limit * 5}` : `--cursor ${page.nextCursor}`;
    io.stderr.write(style.dim(`More runs: ${nextPageOption}\n`));
  }
}

function rowOf(run: ObservedRun, style: Style): string[] {
  const startedAt = run.startedAt ?? run.createdAt;
  return [
    shortId(run.runId),
    `${run.parentRunId === null ? '' : style.dim('↳ ')}${truncate(sanitizeLine(run.workflowName), NAME_WIDTH)}`,
    statusText(run, style),
    formatLocalTime(Date.parse(startedAt)),
    run.durationMs === null ? '' : formatDuration(run.durationMs),
  ];
}
