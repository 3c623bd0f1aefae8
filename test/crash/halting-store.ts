import type { TailableRunStore, Stores } from '../../packages/engine/src/store/stores.ts';

/** The process that wrote through the stores is as good as dead. */
export class Crash extends Error {}

/**
 * Stores through which `writes` writes of the journal come, the first entry of a run among them: after them nothing is
 * written any more, as if the process had died there.
 */
export function haltingStores(stores: Stores, writes: number): Stores & { written(): number } {
  let written = 0;
  const through = <T>(write: () => T): T => {
    if (written >= writes) throw new Crash('The process died here.');
    written += 1;
    return write();
  };
  const whileAlive = <T>(write: () => T): T => {
    if (written >= writes) throw new Crash('The process died here.');
    return write();
  };
  const { runs, values, definitions, changes, conversations, live, spending, rates, control } = stores;
  const halting: TailableRunStore = {
    create: async (run, first, record) => through(() => runs.create(run, first, record)),
    append: async (runId, entries, saved) => through(() => runs.append(runId, entries, saved)),
    upsert: async (runId, entries) => through(() => runs.upsert(runId, entries)),
    saveRecord: async (record, logs) => whileAlive(() => runs.saveRecord(record, logs)),
    journal: (runId) => runs.journal(runId),
    tail: (runId, afterSeq) => runs.tail(runId, afterSeq),
    header: (runId) => runs.header(runId),
    record: (runId) => runs.record(runId),
    logs: (runId) => runs.logs(runId),
    list: (query) => runs.list(query),
    open: () => runs.open(),
    children: (runId) => runs.children(runId),
    remove: async (runId) => whileAlive(() => runs.remove(runId)),
    steps: (runId, place) => runs.steps(runId, place),
    beginStep: async (runId, place, key) => through(() => runs.beginStep(runId, place, key)),
    endStep: async (runId, place, key, result) => through(() => runs.endStep(runId, place, key, result)),
    forgetStep: async (runId, place, key) => through(() => runs.forgetStep(runId, place, key)),
  };
  return {
    runs: halting,
    values: {
      put: async (json) => whileAlive(() => values.put(json)),
      get: (key) => values.get(key),
      prune: async (keys, unusedMs) => whileAlive(() => values.prune(keys, unusedMs)),
    },
    definitions,
    changes,
    conversations: {
      add: async (conversation, exchange) => whileAlive(() => conversations.add(conversation, exchange)),
      newest: (conversation, maxChars) => conversations.newest(conversation, maxChars),
      remove: async (conversation) => whileAlive(() => conversations.remove(conversation)),
      ids: (tenant, limit) => conversations.ids(tenant, limit),
    },
    live,
    spending,
    rates,
    control,
    close: () => stores.close(),
    written: () => written,
  };
}
