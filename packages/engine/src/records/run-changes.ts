import { isEngineError } from '@heddle/core';
import type { RunRecord } from '@heddle/core';
import type { Definitions } from '../definitions.ts';
import type { SharedStores, StoredChange } from '../store/stores.ts';
import type { RunChanges, RunSummary } from '../types.ts';

interface Parts {
  stores: Pick<SharedStores, 'changes'>;
  definitions: Pick<Definitions, 'plan'>;
}

/** Returns the changes that are not acknowledged, at most `limit`, one per run. */
export async function readChanges({ stores, definitions }: Parts, limit: number): Promise<RunChanges> {
  await stores.changes.begin();
  const stored = await stores.changes.read(limit);
  // Every change shows the run as it is now, so the last one is enough.
  const latest = new Map(stored.map((change) => [change.runId, change]));
  const changes: RunChanges['changes'] = [];
  for (const change of latest.values())
    changes.push({ runId: change.runId, run: await summaryOf(change, definitions) });
  return {
    changes,
    more: stored.length === limit,
    acknowledge: async () => stores.changes.acknowledge(stored.map(({ position }) => position)),
  };
}

async function summaryOf(
  { header, record }: StoredChange,
  definitions: Pick<Definitions, 'plan'>,
): Promise<RunSummary | null> {
  if (!header) return null;
  const { callerId = null, workflowId, version = null, parent } = header;
  return {
    ...{ callerId, workflowId, version, parentRunId: parent?.runId ?? null },
    ...stateOf(record),
    createdAt: new Date(header.createdMs).toISOString(),
    blockTypes: await blockTypesOf(header.planHash, definitions),
  };
}

function stateOf(
  record: RunRecord | undefined,
): Pick<RunSummary, 'status' | 'startedAt' | 'endedAt' | 'durationMs' | 'seq'> {
  // Created a moment ago: the first record is saved later.
  if (!record) return { status: 'running', startedAt: null, endedAt: null, durationMs: null, seq: 0 };
  const { status, startedMs, endedMs, seq } = record;
  const durationMs = startedMs === undefined || endedMs === undefined ? null : endedMs - startedMs;
  return { status, startedAt: timeOf(startedMs), endedAt: timeOf(endedMs), durationMs, seq };
}

async function blockTypesOf(planHash: string, definitions: Pick<Definitions, 'plan'>): Promise<string[]> {
  try {
    const { blocks } = await definitions.plan(planHash);
    return [...new Set(Object.values(blocks).map(({ type }) => type))];
  } catch (error) {
    // A plan that cannot be read must not stop the changes of other runs.
    if (isEngineError(error)) return [];
    throw error;
  }
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
