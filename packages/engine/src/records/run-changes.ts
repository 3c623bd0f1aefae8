import { EngineError, isEngineError } from '@heddle/core';
import * as z from 'zod';
import type { Definitions } from '../definitions.ts';
import { isStorable } from '../store/stores.ts';
import type { SharedStores, StoredChange } from '../store/stores.ts';
import type { RunChanges, RunSummary } from '../types.ts';

interface ReadChangesContext {
  stores: Pick<SharedStores, 'changes'>;
  definitions: Pick<Definitions, 'plan'>;
  /** Receives JOURNAL_CORRUPT for runs whose changes are omitted. */
  onError(error: unknown, runId: string): void;
}

/** The range of a Date. */
const MAX_DATE_MS = 8.64e15;
const timeSchema = z.int().min(-MAX_DATE_MS).max(MAX_DATE_MS);
const textSchema = z.string().refine(isStorable);

/** The properties of a stored header and record that a summary contains. */
const HEADER_SCHEMA = z.object({
  callerId: textSchema.optional(),
  workflowId: textSchema,
  version: z.int().optional(),
  parent: z.object({ runId: textSchema }).optional(),
  planHash: textSchema,
  createdMs: timeSchema,
});
const RECORD_SCHEMA = z.object({
  status: z.enum(['queued', 'running', 'paused', 'completed', 'failed', 'cancelled']),
  seq: z.int(),
  startedMs: timeSchema.optional(),
  endedMs: timeSchema.optional(),
});

/**
 * Returns the changes that are not acknowledged, at most `limit`, one per run. Corrupt data of a run must not stop the
 * changes of other runs: it is reported, and its change is omitted.
 */
export async function readChanges(context: ReadChangesContext, limit: number): Promise<RunChanges> {
  const { stores, definitions } = context;
  await stores.changes.begin();
  const storedChanges = await stores.changes.read(limit);
  // Every change contains the current state of the run, so the last one is enough.
  const latestChanges = new Map(storedChanges.map((change) => [change.runId, change]));
  const changes: RunChanges['changes'] = [];
  for (const change of latestChanges.values()) {
    const { runId } = change;
    const summary = await summaryOf(change, definitions);
    if (isEngineError(summary)) context.onError(summary, runId);
    else changes.push({ runId, run: summary });
  }
  return {
    changes,
    hasMore: storedChanges.length === limit,
    acknowledge: async () => stores.changes.acknowledge(storedChanges.map(({ position }) => position)),
  };
}

/** Returns null for a removed run, and JOURNAL_CORRUPT for a run whose data is corrupt. */
async function summaryOf(
  { runId, header, record, error }: StoredChange,
  definitions: Pick<Definitions, 'plan'>,
): Promise<RunSummary | EngineError | null> {
  if (error) return error;
  if (header === undefined) return null;
  const parsedHeader = HEADER_SCHEMA.safeParse(header);
  const parsedRecord = RECORD_SCHEMA.optional().safeParse(record);
  if (!parsedHeader.success || !parsedRecord.success)
    return new EngineError(
      'JOURNAL_CORRUPT',
      `The stored ${parsedHeader.success ? 'record' : 'header'} of run "${runId}" is corrupt: a value is missing or of another type. Restore the store from a backup.`,
    );
  const { callerId = null, workflowId, version = null, parent, createdMs, planHash } = parsedHeader.data;
  return {
    ...{ callerId, workflowId, version, parentRunId: parent?.runId ?? null },
    ...stateOf(parsedRecord.data),
    createdAt: new Date(createdMs).toISOString(),
    blockTypes: await blockTypesOf(planHash, definitions),
  };
}

function stateOf(
  record: z.infer<typeof RECORD_SCHEMA> | undefined,
): Pick<RunSummary, 'status' | 'startedAt' | 'endedAt' | 'durationMs' | 'seq'> {
  // The run was just created, and its first record is not saved yet.
  if (!record) return { status: 'running', startedAt: null, endedAt: null, durationMs: null, seq: 0 };
  const { status, startedMs, endedMs, seq } = record;
  const durationMs = startedMs === undefined || endedMs === undefined ? null : endedMs - startedMs;
  return { status, startedAt: toIsoTime(startedMs), endedAt: toIsoTime(endedMs), durationMs, seq };
}

async function blockTypesOf(planHash: string, definitions: Pick<Definitions, 'plan'>): Promise<string[]> {
  try {
    const { blocks } = await definitions.plan(planHash);
    return [...new Set(Object.values(blocks).map(({ type }) => type))];
  } catch (error) {
    // A plan that cannot be read, or that is not a plan, must not stop the changes of other runs.
    if (isEngineError(error) || error instanceof TypeError) return [];
    throw error;
  }
}

function toIsoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
