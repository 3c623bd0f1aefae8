import type { RunReader } from '@heddle/engine/reader';
import { storeName } from './place.ts';
import type { StoreOptions } from './place.ts';
import { UsageError } from './usage-error.ts';

const SHORT = 8;
const PAGE = 200;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A run's id as people write it: the beginning of a UUID, any other id as it is. */
export function shortId(runId: string): string {
  return UUID.test(runId) ? runId.slice(0, SHORT) : runId;
}

/** The id of the run that `given` names: the id itself, the beginning of exactly one, or the id of exactly one caller. */
export async function findRunId(
  reader: Pick<RunReader, 'listRuns'>,
  given: string,
  store: StoreOptions,
): Promise<string> {
  const matches: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await reader.listRuns({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    for (const { runId, callerId } of page.runs) {
      if (runId === given) return runId;
      if (runId.startsWith(given) || callerId === given) matches.push(runId);
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const [only, second] = matches;
  if (only !== undefined && second === undefined) return only;
  if (only === undefined) {
    throw new UsageError(
      `There is no run ${given} in ${storeName(store)}.`,
      'heddle runs list shows those that there are; another folder is named by --data.',
    );
  }
  throw new UsageError(
    `${given} names ${matches.length} runs: ${matches.slice(0, 5).join(', ')}.`,
    'Give one of these ids, or more of it.',
  );
}
