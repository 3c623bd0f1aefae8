import type { TailableRunStore, Stores } from '../../packages/engine/src/store/stores.ts';

/** Thrown by writes after the simulated crash. */
export class Crash extends Error {}

/**
 * Returns stores that accept `writes` writes to journals and steps, including creations of runs. Later writes of runs,
 * values and conversations throw Crash, as if the process had died.
 */
export function haltingStores(stores: Stores, writes: number): Stores & { written(): number } {
  let written = 0;
  const journalWrite = <T>(write: () => T): T => {
    if (written >= writes) throw new Crash('The process died here.');
    written += 1;
    return write();
  };
  const otherWrite = <T>(write: () => T): T => {
    if (written >= writes) throw new Crash('The process died here.');
    return write();
  };
  const { runs, values, definitions, changes, conversations, live, spending, rates, control } = stores;
  const halting: TailableRunStore = {
    create: async (run, first, record) => journalWrite(() => runs.create(run, first, record)),
    append: async (runId, entries, saved) => journalWrite(() => runs.append(runId, entries, saved)),
    upsert: async (runId, entries) => journalWrite(() => runs.upsert(runId, entries)),
    saveRecord: async (record, logs) => otherWrite(() => runs.saveRecord(record, logs)),
    journal: (runId) => runs.journal(runId),
    tail: (runId, afterSeq) => runs.tail(runId, afterSeq),
    header: (runId) => runs.header(runId),
    record: (runId) => runs.record(runId),
    logs: (runId) => runs.logs(runId),
    list: (query) => runs.list(query),
    open: () => runs.open(),
    children: (runId, filter) => runs.children(runId, filter),
    remove: async (runId) => otherWrite(() => runs.remove(runId)),
    steps: (runId, place) => runs.steps(runId, place),
    beginStep: async (runId, place, key) => journalWrite(() => runs.beginStep(runId, place, key)),
    endStep: async (runId, place, key, result) => journalWrite(() => runs.endStep(runId, place, key, result)),
    forgetStep: async (runId, place, key) => journalWrite(() => runs.forgetStep(runId, place, key)),
  };
  return {
    runs: halting,
    values: {
      put: async (json) => otherWrite(() => values.put(json)),
      get: (key) => values.get(key),
      prune: async (keys, unusedMs) => otherWrite(() => values.prune(keys, unusedMs)),
    },
    definitions,
    changes,
    conversations: {
      add: async (conversation, exchange) => otherWrite(() => conversations.add(conversation, exchange)),
      newest: (conversation, maxChars) => conversations.newest(conversation, maxChars),
      remove: async (conversation) => otherWrite(() => conversations.remove(conversation)),
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
