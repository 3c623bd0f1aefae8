import type { TailableRunStore, Stores } from '../../packages/engine/src/store/stores.ts';

/** Thrown by writes after the simulated crash. */
export class CrashError extends Error {}

/**
 * Returns stores that accept `maxWrites` writes to journals and steps, including creations of runs. Later writes of
 * runs, values and conversations throw CrashError, as if the process had died.
 */
export function createCrashingStores(stores: Stores, maxWrites: number): Stores & { writeCount(): number } {
  let writeCount = 0;
  const writeJournal = <T>(write: () => T): T => {
    if (writeCount >= maxWrites) throw new CrashError('The process died here.');
    writeCount += 1;
    return write();
  };
  const writeOther = <T>(write: () => T): T => {
    if (writeCount >= maxWrites) throw new CrashError('The process died here.');
    return write();
  };
  const { runs, values, definitions, changes, conversations, liveEvents, spending, rates, control } = stores;
  const crashingRuns: TailableRunStore = {
    create: async (header, firstEntry, record) => writeJournal(() => runs.create(header, firstEntry, record)),
    append: async (runId, entries, recordWithLogs) =>
      writeJournal(() => runs.append(runId, entries, recordWithLogs)),
    upsert: async (runId, entries) => writeJournal(() => runs.upsert(runId, entries)),
    saveRecord: async (record, logs) => writeOther(() => runs.saveRecord(record, logs)),
    truncate: async (record, logs) => writeOther(() => runs.truncate(record, logs)),
    addValueUses: async (runId, keys) => writeOther(() => runs.addValueUses(runId, keys)),
    journal: (runId) => runs.journal(runId),
    tail: (runId, afterSeq) => runs.tail(runId, afterSeq),
    header: (runId) => runs.header(runId),
    record: (runId) => runs.record(runId),
    logs: (runId) => runs.logs(runId),
    recordWithLogs: (runId) => runs.recordWithLogs(runId),
    lastLogOrder: (runId) => runs.lastLogOrder(runId),
    list: (query) => runs.list(query),
    unfinishedRunIds: () => runs.unfinishedRunIds(),
    childRunIds: (runId, filter) => runs.childRunIds(runId, filter),
    remove: async (runId) => writeOther(() => runs.remove(runId)),
    steps: (runId, place) => runs.steps(runId, place),
    beginStep: async (runId, place, key) => writeJournal(() => runs.beginStep(runId, place, key)),
    endStep: async (runId, place, key, result) => writeJournal(() => runs.endStep(runId, place, key, result)),
    forgetStep: async (runId, place, key) => writeJournal(() => runs.forgetStep(runId, place, key)),
  };
  return {
    runs: crashingRuns,
    values: {
      put: async (json) => writeOther(() => values.put(json)),
      get: (key) => values.get(key),
      prune: async (keys, unusedMs) => writeOther(() => values.prune(keys, unusedMs)),
    },
    definitions,
    changes,
    conversations: {
      add: async (conversation, exchange) => writeOther(() => conversations.add(conversation, exchange)),
      newestExchanges: (conversation, maxChars) => conversations.newestExchanges(conversation, maxChars),
      remove: async (conversation) => writeOther(() => conversations.remove(conversation)),
      ids: (tenant, limit) => conversations.ids(tenant, limit),
    },
    liveEvents,
    spending,
    rates,
    control,
    close: () => stores.close(),
    writeCount: () => writeCount,
  };
}
