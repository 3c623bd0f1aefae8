import type { BlockLog, RunRecord, RunStatus } from '@heddle/core';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { RunLog } from '@heddle/engine';
import * as z from 'zod';
import { defineLazyBlock } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { Context } from '../define.ts';

const MAX_RUNS = 100;
/** Maximum number of characters of all inputs and outputs that one block reads, as JSON. */
const MAX_VALUE_CHARS = 4_000_000;

const STATUSES = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const;

const fields = z.object({
  runId: z
    .string()
    .optional()
    .describe(
      'Id of a run. With an id, the output is this run with its blocks; without an id, a list of runs.',
    ),
  workflowId: z
    .string()
    .optional()
    .describe(
      'Without runId: id or name of the workflow whose runs are listed. Default: the workflow of the block.',
    ),
  status: z.enum(STATUSES).optional().describe('Without runId: lists only runs with this status.'),
  startDate: z
    .string()
    .optional()
    .describe('Without runId: lists only runs that were created at this time or later.'),
  endDate: z
    .string()
    .optional()
    .describe('Without runId: lists only runs that were created at this time or earlier.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_RUNS)
    .default(20)
    .describe(`Without runId: how many runs to list; default 20, at most ${MAX_RUNS}.`),
  withValues: z
    .union([z.boolean(), z.enum(['true', 'false'])])
    .optional()
    .describe('Whether runs and blocks include their input and output.'),
});

type Fields = z.output<typeof fields>;

/** Reads the log of runs. */
export const logs = defineLazyBlock({
  summary: 'Reads the log of runs of the workspace.',
  fields,
  outputs: z.object({
    runs: z.array(z.json()).optional().describe('Without runId: the runs, newest first.'),
    run: z.json().optional().describe('With runId: the run.'),
    blocks: z
      .array(z.json())
      .optional()
      .describe('With runId: the blocks of the run, in the order in which they started.'),
  }),
  async run({ fields: query, context }) {
    const log = context.services.runs();
    const valueReader = new ValueReader(log, query.withValues === true || query.withValues === 'true');
    return {
      output:
        query.runId === undefined
          ? await listRuns(log, query, valueReader, context)
          : await readRun(log, query.runId, valueReader, context),
    };
  },
});

async function listRuns(log: RunLog, query: Fields, valueReader: ValueReader, context: Context) {
  const { workflowId, status, startDate, endDate, limit } = query;
  const fromMs = parseTimeMs('startDate', startDate, context);
  const toMs = parseTimeMs('endDate', endDate, context);
  const records = await log.list({
    limit,
    ...(workflowId !== undefined && { workflow: workflowId }),
    ...(status !== undefined && { status: [status] satisfies RunStatus[] }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  });
  if (!records)
    throw invalidConfigError(
      context,
      `reads runs of "${workflowId ?? ''}", which is not a deployed workflow`,
    );
  const runs: JsonObject[] = [];
  for (const record of records) runs.push(await runOutput(record, valueReader));
  return { runs };
}

async function readRun(log: RunLog, runId: string, valueReader: ValueReader, context: Context) {
  const storedRun = await log.get(runId);
  if (!storedRun)
    throw invalidConfigError(context, `reads a run "${runId.slice(0, 100)}", which does not exist`);
  const run = await runOutput(storedRun.record, valueReader);
  const blocks: JsonObject[] = [];
  for (const blockLog of storedRun.logs) blocks.push(await blockOutput(blockLog, valueReader));
  return { run, blocks };
}

/** Returns a run without the tokens of open pauses, with which the workflow could answer in place of a person. */
async function runOutput(record: RunRecord, valueReader: ValueReader): Promise<JsonObject> {
  const { runId, workflowId, workflowName, status, createdMs, startedMs, endedMs, error } = record;
  return {
    runId,
    workflowId,
    workflowName,
    status,
    createdAt: toIso(createdMs),
    startedAt: toIso(startedMs),
    endedAt: toIso(endedMs),
    error: error ? { code: error.code, message: error.message, blockName: error.blockName ?? null } : null,
    ...(await valueReader.read(record)),
  };
}

async function blockOutput(blockLog: BlockLog, valueReader: ValueReader): Promise<JsonObject> {
  const { blockId, blockName, blockType, status, startedMs, endedMs, durationMs, error } = blockLog;
  return {
    blockId,
    blockName,
    blockType,
    status,
    startedAt: toIso(startedMs),
    endedAt: toIso(endedMs),
    durationMs: durationMs ?? null,
    error: error ? { code: error.code, message: error.message } : null,
    // The output of an open pause has its token.
    ...(status !== 'paused' && (await valueReader.read(blockLog))),
  };
}

/** Reads inputs and outputs up to a total size. Values that exceed it are null. */
class ValueReader {
  readonly #log: RunLog;
  readonly #isEnabled: boolean;
  #remainingChars = MAX_VALUE_CHARS;

  constructor(log: RunLog, isEnabled: boolean) {
    this.#log = log;
    this.#isEnabled = isEnabled;
  }

  async read({ input, output }: Pick<BlockLog, 'input' | 'output'>): Promise<JsonObject> {
    return this.#isEnabled ? { input: await this.#load(input), output: await this.#load(output) } : {};
  }

  async #load(storedValue: BlockLog['input']): Promise<Json> {
    if (storedValue === undefined || this.#remainingChars <= 0) return null;
    const value = await this.#log.load(storedValue);
    this.#remainingChars -= JSON.stringify(value).length;
    return this.#remainingChars < 0 ? null : value;
  }
}

function toIso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

function parseTimeMs(field: string, text: string | undefined, context: Context): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw invalidConfigError(
      context,
      `has an invalid time in "${field}": write it like 2026-01-31T00:00:00Z`,
    );
  return ms;
}
