import type { Json, JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import type { EventTables } from '../../packages/service/src/triggers/events/tables.ts';
import type { FlowTables } from '../../packages/service/src/triggers/flow/tables.ts';
import { createTestApi, openStore } from '../support/api.ts';
import type { TestApi, TestApiOptions } from '../support/api.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { createManualInterval } from './manual-interval.ts';

type Tables = EventTables & FlowTables;

/** The input of a run that an event has started. */
export type EventInput = JsonObject & { event: string };

export interface EventApi extends TestApi {
  db: Kysely<Tables>;
  now: { ms: number };
  /** Does background work until no event and no run is due. */
  waitUntilIdle(): Promise<void>;
  /**
   * Deploys a workflow whose event trigger has these fields. `lastBlock` replaces properties of its last block. Returns
   * the id of the workflow.
   */
  deployWatcher(fields: { [name: string]: Json }, options?: { lastBlock?: JsonObject }): Promise<string>;
  /** Deploys a workflow whose runs fail if `fails` is true in their input. Returns its id. */
  deployWatchedWorkflow(): Promise<string>;
  /** Runs a workflow to its end, and waits until its events are handled. Returns the id of the run. */
  run(workflowId: string, input?: JsonObject): Promise<string>;
  /** Returns the inputs of the runs of a workflow, oldest first. */
  listInputs(workflowId: string): Promise<EventInput[]>;
}

/** A block that fails. */
export const FAILING_BLOCK: JsonObject = {
  type: 'api',
  subBlocks: { url: { id: 'url', type: 'short-input', value: 'not a url' } },
};

/** Starts an API on a store of this kind. The test advances its clock; its background work runs in `waitUntilIdle`. */
export async function openEventApi(
  kind: 'sqlite' | 'postgres',
  options: TestApiOptions = {},
): Promise<EventApi> {
  const now = { ms: Date.now() };
  const { repeat, tick } = createManualInterval();
  const store = options.store ?? (await openStore(kind));
  const api = await createTestApi({ ...options, store, now: () => now.ms, repeat });
  const db = store.database as Kysely<Tables>;

  async function waitUntilIdle(): Promise<void> {
    let idlePollCount = 0;
    const hasWork = async (): Promise<boolean> => {
      // Events of the current instant are found only by a later poll.
      now.ms += 5000;
      tick();
      const { changes } = await api.engine.runChanges(1);
      const [event, trigger, run, claim] = await Promise.all([
        db.selectFrom('service_events').select('id').where('look_ms', '<=', now.ms).executeTakeFirst(),
        db.selectFrom('triggers').select('id').where('fire_ms', '<=', now.ms).executeTakeFirst(),
        db.selectFrom('flow_runs').select('run_id').where('look_ms', '<=', now.ms).executeTakeFirst(),
        db
          .selectFrom('claims')
          .select('run_id')
          .where('waiting', 'is not', null)
          .where('held', 'is', null)
          .executeTakeFirst(),
      ]);
      const { runs } = await api.engine.listRuns({ limit: 100 });
      const isRunning = runs.some(({ status }) => status === 'running' || status === 'queued');
      idlePollCount =
        changes.length > 0 || event || trigger || run || claim || isRunning ? 0 : idlePollCount + 1;
      return idlePollCount < 3;
    };
    await expect.poll(hasWork, { timeout: 20_000, interval: 10 }).toBe(false);
  }

  return {
    ...api,
    ...{ db, now, waitUntilIdle },
    deployWatcher: (fields, { lastBlock } = {}) =>
      api.deploy(
        createTriggerWorkflow(fields, { type: 'sim_workspace_event', ...(lastBlock && { lastBlock }) }),
      ),
    deployWatchedWorkflow: () => api.deploy(createWatchedWorkflow()),
    async run(workflowId, input = {}) {
      const body = { input };
      const response = await api.call<{ runId: string }>('POST', `/api/v2/workflows/${workflowId}/execute`, {
        body,
      });
      await waitUntilIdle();
      return response.data.runId;
    },
    async listInputs(workflowId) {
      const { runs } = await api.engine.listRuns({ workflowId, limit: 100 });
      const oldestFirst = runs.toReversed();
      return Promise.all(
        oldestFirst.map(async ({ runId }) => {
          const [firstLog] = await api.engine.getLogs(runId);
          if (!firstLog) throw new Error(`The run ${runId} has no blocks.`);
          const { input: _input, ...output } = firstLog.output as EventInput;
          return output as EventInput;
        }),
      );
    },
  };
}

/** Returns a workflow that fails if `fails` is true in its input. */
function createWatchedWorkflow(): Json {
  const commonProperties = { position: { x: 0, y: 0 }, enabled: true, outputs: {} };
  const code =
    "if (<start.fails> === true) throw new Error('It was asked to fail.'); return { message: 'done' };";
  return {
    version: '1.0',
    workflow: { id: 'watched', name: 'Watched' },
    state: {
      blocks: {
        start: {
          ...{ ...commonProperties, id: 'start', type: 'start_trigger', name: 'Start' },
          subBlocks: {
            inputFormat: {
              ...{ id: 'inputFormat', type: 'input-format' },
              value: [{ name: 'fails', type: 'boolean', value: 'false' }],
            },
          },
        },
        work: {
          ...{ ...commonProperties, id: 'work', type: 'function', name: 'Work' },
          subBlocks: { code: { id: 'code', type: 'code', value: code } },
        },
      },
      edges: [{ id: 'edge', source: 'start', target: 'work' }],
    },
  };
}
