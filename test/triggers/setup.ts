import { triggerTypes } from '@heddle/blocks/triggers';
import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import type { TriggerTables } from '../../packages/service/src/triggers/tables.ts';
import { createTestApi, openStore } from '../support/api.ts';
import type { TestApi, TestApiOptions } from '../support/api.ts';
import { createManualInterval } from './manual-interval.ts';

/** The interval of the scheduler in milliseconds, which identifies it among other background work. */
export const SCHEDULER_INTERVAL_MS = 250;

/** A trigger in responses of the API. */
export interface TriggerResponse {
  id: string;
  workflowId: string;
  blockId: string;
  name: string;
  version: number;
  state: string;
  nextDueAt: string | null;
  waitsFor: string | null;
  lastDueAt: string | null;
  lastRunId: string | null;
  health: { lastEventAt: string | null; lastError: string | null; failures: number };
}

export interface ScheduleApi extends TestApi {
  db: Kysely<TriggerTables>;
  now(): number;
  /** Sets the time, and runs the schedulers. */
  advanceTo(time: string): void;
  /** Returns the due times for which a workflow has a run, earliest first. */
  listFiredDueTimes(workflowId: string): Promise<string[]>;
  readTrigger(workflowId: string): Promise<TriggerResponse>;
}

const msOf = (time: string): number => Date.parse(time);

/** Starts an API on a store of this kind. The test sets its time. */
export async function openScheduleApi(
  kind: 'sqlite' | 'postgres',
  time: string,
  options: TestApiOptions = {},
): Promise<ScheduleApi> {
  let nowMs = msOf(time);
  const { repeat, tick } = createManualInterval((ms) => ms === SCHEDULER_INTERVAL_MS);
  const store = options.store ?? (await openStore(kind));
  const engineOptions = { ...options.engineOptions, triggers: triggerTypes };
  const api = await createTestApi({ ...options, store, engineOptions, now: () => nowMs, repeat });
  const db = store.database as Kysely<TriggerTables>;
  return {
    ...api,
    db,
    now: () => nowMs,
    advanceTo(newTime) {
      nowMs = msOf(newTime);
      tick();
    },
    async listFiredDueTimes(workflowId) {
      // A scheduler that was still working skipped the last tick.
      tick();
      const rows = await db
        .selectFrom('trigger_fires')
        .innerJoin('claims', 'claims.engine_id', 'trigger_fires.run_id')
        .select(['due_ms'])
        .where('trigger_fires.workflow_id', '=', workflowId)
        .orderBy('due_ms')
        .execute();
      return rows.map(({ due_ms: ms }) => new Date(Number(ms)).toISOString().replace(':00.000Z', 'Z'));
    },
    async readTrigger(workflowId) {
      tick();
      const query = `workspaceId=${api.workspaceId}&workflowId=${workflowId}`;
      const { data } = await api.call<TriggerResponse[]>('GET', `/api/v2/triggers?${query}`);
      const [trigger] = data;
      expect(data).toHaveLength(1);
      return trigger as TriggerResponse;
    },
  };
}
