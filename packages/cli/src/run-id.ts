import type { RunReader } from '@heddle/engine/reader';
import { storeName } from './store-options.ts';
import type { StoreOptions } from './store-options.ts';
import { UsageError } from './usage-error.ts';

const SHORT_ID_CHARS = 8;
const PAGE_SIZE = 200;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Returns a run's id as messages show it: the last characters of a UUID, because the first characters are the time; any
 * other id is unchanged.
 */
export function shortId(runId: string): string {
  return UUID.test(runId) ? runId.slice(-SHORT_ID_CHARS) : runId;
}

/**
 * Finds a run by its id, an unambiguous beginning or end of its id, or the id that its caller chose (X-Run-Id). Throws
 * usage errors.
 */
export async function findRunId(
  reader: Pick<RunReader, 'listRuns'>,
  id: string,
  store: StoreOptions,
): Promise<string> {
  const matches: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await reader.listRuns({ limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) });
    for (const { runId, callerId } of page.runs) {
      if (runId === id) return runId;
      if (runId.startsWith(id) || runId.endsWith(id) || callerId === id) matches.push(runId);
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const [firstMatch, secondMatch] = matches;
  if (firstMatch !== undefined && secondMatch === undefined) return firstMatch;
  if (firstMatch === undefined) {
    throw new UsageError(
      `There is no run ${id} in ${storeName(store)}.`,
      'heddle runs list shows all runs. Use --data for another folder.',
    );
  }
  throw new UsageError(
    `${id} matches ${matches.length} runs: ${matches.slice(0, 5).join(', ')}.`,
    'Use one of these ids, or more characters.',
  );
}
