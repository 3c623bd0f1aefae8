import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify/sync';
import type { Json } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { ApiClient, stringAt } from '../api-client.ts';
import { readEnv } from '../env.ts';
import { EXIT } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';
import type { RemoteOptions } from '../run-options.ts';
import { UsageError } from '../usage-error.ts';

export interface LogsExportOptions extends RemoteOptions {
  format: 'csv' | 'ndjson';
  /** Default: standard output. */
  output?: string;
  workflow?: string;
  folder?: string;
  trigger?: string;
  level?: string;
  status?: string;
  name?: string;
  from?: string;
  to?: string;
  run?: string;
  minDuration?: string;
  maxDuration?: string;
  minCost?: string;
  maxCost?: string;
  model?: string;
  sortBy?: string;
  sortOrder?: string;
  spans: boolean;
  outputs: boolean;
}

/** Query parameter of the list of logs, by option. */
const PARAMETERS = {
  workflow: 'workflowIds',
  folder: 'folderPaths',
  trigger: 'triggers',
  level: 'level',
  status: 'status',
  name: 'workflowName',
  from: 'startDate',
  to: 'endDate',
  run: 'runId',
  minDuration: 'minDurationMs',
  maxDuration: 'maxDurationMs',
  minCost: 'minCost',
  maxCost: 'maxCost',
  model: 'model',
  sortBy: 'sortBy',
  sortOrder: 'sortOrder',
} as const satisfies { [option in keyof LogsExportOptions]?: string };

const PAGE_SIZE = 1000;
/** Page size of entries with spans or outputs, which are large. */
const LARGE_ENTRY_PAGE_SIZE = 20;

const COLUMNS = [
  'runId',
  'workflowId',
  'workflowName',
  'deploymentVersionId',
  'status',
  'level',
  'trigger',
  'startedAt',
  'endedAt',
  'totalDurationMs',
  'costUsd',
];

/** Writes the runs of a workspace that match the filters, page by page. */
export async function exportLogs(io: Io, options: LogsExportOptions): Promise<number> {
  const { format, output } = options;
  if (format === 'csv' && (options.spans || options.outputs))
    throw new UsageError('CSV cannot contain spans or outputs.', 'Use --format ndjson.');
  const client = new ApiClient(options, readEnv());
  let count = 0;
  const formatPages = async function* (): AsyncGenerator<string> {
    let isFirst = true;
    for await (const page of fetchPages(client, queryOf(client, options))) {
      yield format === 'csv' ? toCsv(page, isFirst) : toNdjson(page);
      isFirst = false;
      count += page.length;
    }
  };
  // The first page is requested before the file is created: a rejected request leaves no empty file.
  const pageTexts = formatPages();
  const firstPage = await pageTexts.next();
  const source = Readable.from(concat(firstPage, pageTexts));
  if (output === undefined) await pipeline(source, io.stdout, { end: false }).catch(ignoreClosedReader);
  // Inputs and outputs of runs are not for other users of the machine.
  else await pipeline(source, createWriteStream(output, { mode: 0o600 }));
  const style = styleFor(io.stderr);
  io.stderr.write(style.dim(`${count} ${count === 1 ? 'run' : 'runs'} exported.\n`));
  return EXIT.completed;
}

/** Rethrows an error of the output, unless a reader has closed it early (`| head`). */
function ignoreClosedReader(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
}

async function* concat(
  first: IteratorResult<string, void>,
  others: AsyncGenerator<string>,
): AsyncGenerator<string> {
  if (first.done) return;
  yield first.value;
  yield* others;
}

function queryOf(client: ApiClient, options: LogsExportOptions): URLSearchParams {
  const { spans, outputs } = options;
  const query = new URLSearchParams({
    workspaceId: client.workspaceId,
    details: 'full',
    limit: String(spans || outputs ? LARGE_ENTRY_PAGE_SIZE : PAGE_SIZE),
    ...(spans && { includeTraceSpans: 'true' }),
    ...(outputs && { includeFinalOutput: 'true' }),
  });
  for (const [option, parameter] of Object.entries(PARAMETERS)) {
    const value = options[option as keyof typeof PARAMETERS];
    if (value !== undefined) query.set(parameter, value);
  }
  return query;
}

async function* fetchPages(client: ApiClient, query: URLSearchParams): AsyncGenerator<JsonObject[]> {
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    if (cursor !== '') query.set('cursor', cursor);
    const page: JsonObject = await client.call('GET', `/api/v2/logs?${query.toString()}`);
    const entries = getOwn(page, 'data');
    yield Array.isArray(entries) ? entries.filter((entry) => isJsonObject(entry)) : [];
    cursor = stringAt(page, 'nextCursor') || undefined;
  }
}

function toNdjson(page: readonly JsonObject[]): string {
  return page.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

/** Returns CSV rows. Puts a quote before each value that a spreadsheet would interpret as a formula. */
function toCsv(page: readonly JsonObject[], withHeader: boolean): string {
  return stringify(page.map(rowOf), { columns: COLUMNS, header: withHeader, escape_formulas: true });
}

function rowOf(entry: JsonObject): { [column: string]: Json } {
  const workflow = getOwn(entry, 'workflow');
  const cost = getOwn(entry, 'cost');
  return {
    ...entry,
    workflowName: isJsonObject(workflow) ? stringAt(workflow, 'name') : null,
    costUsd: isJsonObject(cost) ? (getOwn(cost, 'total') ?? null) : null,
  };
}
