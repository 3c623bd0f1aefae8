import { setTimeout as delay } from 'node:timers/promises';
import { isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import type { Fleet } from './fleet.ts';
import { answerTo, CHILD_WORKFLOW, TEST_WORKFLOWS } from './test-workflows.ts';
import type { TestWorkflow } from './test-workflows.ts';

/** A server that the test can kill and restart. */
export interface KillableServer {
  /** Kills the server with SIGKILL and restarts it with its data. Resolves when it accepts requests. */
  restart(): Promise<void>;
}

/** A period without the server. */
export interface Outage {
  startMs: number;
  endMs: number;
}

export interface FaultOptions {
  engine: Engine;
  stores: SharedStores;
  fleet: Fleet;
  server: KillableServer;
  /** Milliseconds during which processes are killed; after that the test waits for the runs in flight. */
  durationMs: number;
  /** Number of concurrent runs. */
  concurrency: number;
}

/** The runs, outages and answers of a test with faults. */
export interface FaultRecord {
  runs: { runId: string; testWorkflow: TestWorkflow }[];
  outages: Outage[];
  /** Number of answers to each pause, by token; above 1 if an unconfirmed answer was repeated. */
  answerCounts: Map<string, number>;
  /** Number of starts that the server did not accept at the first attempt. */
  refusedStartCount: number;
  /** Unexpected errors of the engine. */
  unexpectedErrors: string[];
}

/** Milliseconds between two kills. */
const KILL_INTERVAL_MS = 1500;
/** Number of kills of workers between two kills of the server. */
const WORKER_KILLS_PER_SERVER_KILL = 4;
const POLL_MS = 200;
/** Milliseconds after which an unconfirmed answer is repeated. */
const CONFIRMATION_TIMEOUT_MS = 15_000;
/**
 * Milliseconds without progress after which the open runs count as stuck. Longer than the detection of a lost worker
 * plus the delay between attempts.
 */
const STUCK_MS = 90_000;
const OPEN_STATUSES = ['running', 'paused'] as const;

/** Starts runs and answers their pauses while it kills workers and the server, until all runs have ended. */
export async function injectFaults(options: FaultOptions): Promise<FaultRecord> {
  const record: FaultRecord = {
    runs: [],
    outages: [],
    answerCounts: new Map(),
    refusedStartCount: 0,
    unexpectedErrors: [],
  };
  const answerLoopController = new AbortController();
  await options.engine.deploy(CHILD_WORKFLOW);
  const endMs = performance.now() + options.durationMs;
  const isOver = (): boolean => performance.now() > endMs;
  const answerLoop = answerPauses(options.engine, record, answerLoopController.signal);
  try {
    await Promise.all([startRuns(options, record, isOver), killProcesses(options, record, isOver)]);
    await waitUntilRunsEnd(options.stores);
  } finally {
    answerLoopController.abort();
    await answerLoop;
  }
  return record;
}

async function startRuns(
  { engine, stores, concurrency }: FaultOptions,
  record: FaultRecord,
  isOver: () => boolean,
): Promise<void> {
  for (let nextIndex = 0; !isOver();) {
    const openIds = new Set(await stores.runs.unfinishedRunIds());
    const openCount = record.runs.filter(({ runId }) => openIds.has(runId)).length;
    for (let freeSlots = concurrency - openCount; freeSlots > 0; freeSlots--)
      await startRun(engine, record, nextIndex++);
    await delay(POLL_MS);
  }
}

async function startRun(engine: Engine, record: FaultRecord, index: number): Promise<void> {
  const testWorkflow = TEST_WORKFLOWS[index % TEST_WORKFLOWS.length] as TestWorkflow;
  const runId = `chaos-${process.pid}-${index}`;
  record.runs.push({ runId, testWorkflow });
  try {
    await engine.start({ workflow: testWorkflow.workflow }, {}, { runId });
  } catch (error) {
    // The run is recorded. The next process that reaches the server starts it.
    if (!isEngineError(error) || error.code !== 'RUNTIME_UNREACHABLE') throw error;
    record.refusedStartCount++;
  }
}

async function killProcesses(
  { fleet, server }: FaultOptions,
  record: FaultRecord,
  isOver: () => boolean,
): Promise<void> {
  const pendingStarts = new Set<Promise<unknown>>();
  for (let killNumber = 1; !isOver(); killNumber++) {
    await delay(KILL_INTERVAL_MS);
    if (killNumber % (WORKER_KILLS_PER_SERVER_KILL + 1) === 0) {
      const outage = { startMs: Date.now(), endMs: Number.POSITIVE_INFINITY };
      record.outages.push(outage);
      await server.restart();
      outage.endMs = Date.now();
      continue;
    }
    const { pids } = fleet;
    await fleet.kill(pids[Math.floor(Math.random() * pids.length)] ?? 0);
    const pendingStart = fleet.start().finally(() => pendingStarts.delete(pendingStart));
    pendingStarts.add(pendingStart);
  }
  await Promise.all(pendingStarts);
}

/** Answers every pause and repeats unconfirmed answers. */
async function answerPauses(engine: Engine, record: FaultRecord, signal: AbortSignal): Promise<void> {
  const pendingTokens = new Set<string>();
  while (!signal.aborted) {
    const { runs } = await engine.listRuns({ status: [...OPEN_STATUSES], limit: 200 });
    for (const { runId, pauses } of runs)
      for (const { token, kind, scope } of pauses) {
        if (kind !== 'human' || pendingTokens.has(token)) continue;
        pendingTokens.add(token);
        record.answerCounts.set(token, (record.answerCounts.get(token) ?? 0) + 1);
        const resumption = engine.resume(runId, { token, input: answerTo(scope) });
        const confirmation = Promise.race([resumption, delay(CONFIRMATION_TIMEOUT_MS)]);
        // The run shows whether the answer was accepted: a pause that is still open is answered again.
        confirmation
          .catch((error: unknown) => {
            if (!isExpected(error)) record.unexpectedErrors.push(`An answer to ${runId}: ${String(error)}`);
          })
          .finally(() => pendingTokens.delete(token));
      }
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Expected errors: the server may be down, or the previous answer was accepted. */
const EXPECTED_CODES = new Set([
  'RUNTIME_UNREACHABLE',
  'RESUME_POINT_CLOSED',
  'RESUME_POINT_NOT_FOUND',
  'RUN_ENDED',
]);

function isExpected(error: unknown): boolean {
  return isEngineError(error) && EXPECTED_CODES.has(error.code);
}

/**
 * Resolves when no run is open, or when no run has made progress for `STUCK_MS`. The audit reports runs that are still
 * open.
 */
async function waitUntilRunsEnd({ runs }: SharedStores): Promise<void> {
  let previousProgress = '';
  let lastProgressMs = performance.now();
  while (performance.now() - lastProgressMs < STUCK_MS) {
    const openRunIds = await runs.unfinishedRunIds();
    if (openRunIds.length === 0) return;
    const progress = await Promise.all(openRunIds.map(async (runId) => (await runs.record(runId))?.seq));
    const currentProgress = JSON.stringify([openRunIds, progress]);
    if (currentProgress !== previousProgress) lastProgressMs = performance.now();
    previousProgress = currentProgress;
    await delay(POLL_MS);
  }
}
