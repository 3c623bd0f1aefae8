import { isEngineError } from '@heddle/core';
import type { Reservations } from '@heddle/api/ports';
import type { Engine } from '@heddle/engine';
import type { PublicRunStore } from '../store/public-runs.ts';
import type { PublicRunRow } from '../store/schema.ts';
import type { RetentionJob } from './sweep.ts';

/** Maximum number of rows of one query. */
const PAGE_SIZE = 200;

interface PublicRunRetentionOptions {
  engine: Pick<Engine, 'getRun' | 'deleteRun' | 'deleteFiles'>;
  publicRuns: PublicRunStore;
  reservations: Pick<Reservations, 'release'>;
  /** Milliseconds for which a run is kept after its end. */
  maxAgeMs: number;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * Returns the job that deletes public runs (runs of unauthenticated callers), with their files and reservations,
 * `maxAgeMs` after their end.
 */
export function publicRunRetention(options: PublicRunRetentionOptions): RetentionJob {
  const { publicRuns, maxAgeMs, now, onError } = options;
  return async (sweep) => {
    const cutoffMs = now() - maxAgeMs;
    const cutoff = new Date(cutoffMs).toISOString();
    let lastRow: PublicRunRow | undefined;
    do {
      const page = await publicRuns.readPage(cutoff, lastRow, PAGE_SIZE);
      for (const row of page) {
        if (!(await sweep.continueAfterPause())) return;
        await deleteIfExpired(options, row, cutoffMs).catch(onError);
      }
      lastRow = page.length === PAGE_SIZE ? page.at(-1) : undefined;
    } while (lastRow);
  };
}

async function deleteIfExpired(
  { engine, publicRuns, reservations }: PublicRunRetentionOptions,
  { run_id: runId, files }: PublicRunRow,
  cutoffMs: number,
): Promise<void> {
  const endedAt = await endedAtOf(engine, runId);
  // A run that has not ended is kept, even if it has waited for a person for a long time.
  if (endedAt === null || (endedAt !== undefined && Date.parse(endedAt) >= cutoffMs)) return;
  if (endedAt !== undefined) await engine.deleteRun(runId);
  await engine.deleteFiles(files === null ? [] : (JSON.parse(files) as string[]));
  await reservations.release(runId);
  await publicRuns.remove(runId);
}

/** Returns when the run ended; null if it has not ended; undefined if it does not exist. */
async function endedAtOf(engine: Pick<Engine, 'getRun'>, runId: string): Promise<string | null | undefined> {
  try {
    return (await engine.getRun(runId)).endedAt;
  } catch (error) {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND') return undefined;
    throw error;
  }
}
