import type { TailableRunStore, Stores } from '../../packages/engine/src/store/stores.ts';

/** Numbers of operations on the stores. */
export interface Counts {
  /** Journal entries, including the first entries of runs. */
  entries: number;
  /** Writes of journal entries and of steps. The engine waits for each. */
  writes: number;
  /** Writes of records, except those that create runs. */
  records: number;
  /** Block logs written with records. */
  logs: number;
  /** Values written to the value store. */
  values: number;
  /** Reads of any kind. */
  reads: number;
}

/** Returns stores that count the calls and forward them to `stores`. */
export function createCountingStores(stores: Stores): { stores: Stores; counts: Counts } {
  const counts: Counts = { entries: 0, writes: 0, records: 0, logs: 0, values: 0, reads: 0 };
  const { runs, values } = stores;
  const countRead = <T>(result: T): T => {
    counts.reads++;
    return result;
  };
  const countingStore: TailableRunStore = {
    create(header, firstEntry, record) {
      counts.entries++;
      counts.writes++;
      return runs.create(header, firstEntry, record);
    },
    append(runId, entries, projection) {
      counts.entries += entries.length;
      counts.writes++;
      if (projection) {
        counts.records++;
        counts.logs += projection.logs.length;
      }
      return runs.append(runId, entries, projection);
    },
    upsert(runId, entries) {
      counts.entries += entries.length;
      counts.writes++;
      return runs.upsert(runId, entries);
    },
    saveRecord(record, logs) {
      counts.records++;
      counts.logs += logs.length;
      return runs.saveRecord(record, logs);
    },
    truncate: (record, logs) => runs.truncate(record, logs),
    addValueUses: (runId, keys) => runs.addValueUses(runId, keys),
    journal: (runId) => countRead(runs.journal(runId)),
    tail: (runId, afterSeq) => countRead(runs.tail(runId, afterSeq)),
    header: (runId) => countRead(runs.header(runId)),
    record: (runId) => countRead(runs.record(runId)),
    logs: (runId) => countRead(runs.logs(runId)),
    recordWithLogs: (runId) => countRead(runs.recordWithLogs(runId)),
    lastLogOrder: (runId) => countRead(runs.lastLogOrder(runId)),
    list: (query) => countRead(runs.list(query)),
    unfinishedRunIds: () => countRead(runs.unfinishedRunIds()),
    childRunIds: (runId, filter) => countRead(runs.childRunIds(runId, filter)),
    remove: (runId) => runs.remove(runId),
    steps: (runId, place) => countRead(runs.steps(runId, place)),
    beginStep(runId, place, key) {
      counts.writes++;
      return runs.beginStep(runId, place, key);
    },
    endStep(runId, place, key, result) {
      counts.writes++;
      return runs.endStep(runId, place, key, result);
    },
    forgetStep(runId, place, key) {
      counts.writes++;
      return runs.forgetStep(runId, place, key);
    },
  };
  return {
    counts,
    stores: {
      ...stores,
      runs: countingStore,
      values: {
        put(json) {
          counts.values++;
          return values.put(json);
        },
        get: (key) => countRead(values.get(key)),
        prune: (keys, unusedMs) => values.prune(keys, unusedMs),
      },
      close: () => stores.close(),
    },
  };
}
