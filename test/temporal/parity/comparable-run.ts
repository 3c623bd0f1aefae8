import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '@heddle/engine';
import type { Entry, Json } from '@heddle/core';

/** Fields that differ between equal runs: times, tokens, random numbers. */
const IGNORED_FIELDS = new Set([
  'seq',
  'atMs',
  'startedMs',
  'endedMs',
  'durationMs',
  'dueMs',
  'jitter',
  'token',
  'startedAt',
  'endedAt',
]);

/** The parts of runs that must be equal. */
export interface ComparableRun {
  journal: Json[];
  result: Json;
  logs: Json[];
}

/** Returns the comparable parts of a run that has ended. `entries`: its journal. */
export async function readComparableRun(
  engine: Engine,
  runId: string,
  entries: readonly Entry[],
): Promise<ComparableRun> {
  const { status, output, error } = await engine.getRun(runId);
  const logs = await engine.getLogs(runId);
  return {
    journal: entries.map((entry) => withoutIgnoredFields(entry)),
    result: withoutIgnoredFields({ status, output, error }),
    logs: logs.map((log) => withoutIgnoredFields(log)),
  };
}

/** Returns the first difference of two runs, such as `journal[2]`, with both values; undefined if they are equal. */
export function findFirstDifference(local: ComparableRun, temporal: ComparableRun): string | undefined {
  for (const key of ['journal', 'logs', 'result'] as const) {
    const [localItems, temporalItems] = [[local[key]].flat(), [temporal[key]].flat()];
    for (let index = 0; index < Math.max(localItems.length, temporalItems.length); index++)
      if (!isDeepStrictEqual(localItems[index], temporalItems[index]))
        return `${key}[${index}] is ${JSON.stringify(localItems[index])} locally and ${JSON.stringify(temporalItems[index])} on Temporal`;
  }
  return undefined;
}

function withoutIgnoredFields(value: object): Json {
  const fields = Object.entries(value).filter(
    ([name, field]) => !IGNORED_FIELDS.has(name) && field !== undefined,
  );
  // Ids of child runs are derived with a random key of the run.
  const replacer = (key: string, field: unknown): unknown => (key === 'childRunId' ? 'the child' : field);
  return JSON.parse(JSON.stringify(Object.fromEntries(fields)), replacer) as Json;
}
