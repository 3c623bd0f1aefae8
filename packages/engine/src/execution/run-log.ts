import type { RunLog } from '../executors/services.ts';
import type { VersionedPlan } from '../definitions.ts';
import type { RuntimeParts } from './runtime-parts.ts';

/** The reader of the log: the workflow of the block, its tenant, and a function that finds other workflows. */
interface RunLogReader {
  workflow: { id: string; name: string };
  tenant: () => Promise<string | undefined>;
  find(reference: string): Promise<VersionedPlan | undefined>;
}

/** Returns the log of the runs that a block may read: the runs of its tenant's workflows. */
export function createRunLog({ stores, values, tenant }: RuntimeParts, reader: RunLogReader): RunLog {
  const { workflow } = reader;
  return {
    async list({ workflow: reference, ...query }) {
      const isOwn = reference === undefined || reference === workflow.id || reference === workflow.name;
      const workflowId = isOwn ? workflow.id : (await reader.find(reference))?.plan.workflow.id;
      return workflowId === undefined ? undefined : (await stores.runs.list({ ...query, workflowId })).runs;
    },
    async get(runId) {
      const record = await stores.runs.record(runId);
      if (!record || (await tenant(record.workflowId)) !== (await reader.tenant())) return undefined;
      return stores.runs.recordWithLogs(runId);
    },
    load: async (stored) => values.load(stored),
  };
}
