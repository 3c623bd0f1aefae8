import type { Engine } from '@heddle/engine';
import type { Entry, Json } from '@heddle/core';

/** What differs from run to run: times, tokens, chance. */
const OWN = new Set([
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

/** A run as it can be compared with another of the same script. */
export interface Shape {
  journal: Json[];
  result: Json;
  logs: Json[];
}

export async function shapeOf(engine: Engine, runId: string, entries: readonly Entry[]): Promise<Shape> {
  const { status, output, error } = await engine.getRun(runId);
  const logs = await engine.getLogs(runId);
  return {
    journal: entries.map((entry) => common(entry)),
    result: common({ status, output, error }),
    logs: logs.map((log) => common(log)),
  };
}

function common(value: object): Json {
  const kept = Object.entries(value).filter(([name, field]) => !OWN.has(name) && field !== undefined);
  // Ids of child runs are made with a key of each run's own.
  const named = (key: string, field: unknown): unknown => (key === 'childRunId' ? 'the child' : field);
  return JSON.parse(JSON.stringify(Object.fromEntries(kept)), named) as Json;
}
