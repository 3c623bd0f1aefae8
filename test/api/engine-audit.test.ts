import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { APPROVAL_WORKFLOW } from '../support/api-workflows.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { block, workflow } from '../support/workflow.ts';

const REPLY_WORKFLOW = workflow(
  [block('Reply', 'response', { dataMode: 'json', data: '{}' })],
  ['Start -> Reply'],
);

/** An action of the engine. It is not part of a transaction of the service's database. */
interface Action {
  event: string;
  path: string;
  body?: object;
  /** Returns whether the engine has executed the action. */
  isDone(): Promise<boolean>;
}

describe('the audit event of an engine action', () => {
  let api: TestApi;
  let workflowId: string;
  let run: RunResponse;

  beforeEach(async () => {
    api = await createTestApi();
    workflowId = await api.deploy(APPROVAL_WORKFLOW);
    run = (await api.call<RunResponse>('POST', `/api/v2/workflows/${workflowId}/execute`, { body: {} })).data;
  });

  const getDatabase = (): Kysely<unknown> => api.store.database as Kysely<unknown>;
  const pathOf = (runId: string, action: string) => `/api/v2/workflows/${workflowId}/runs/${runId}/${action}`;
  const readStatus = async (): Promise<string> =>
    (await api.call<RunResponse>('GET', `/api/v2/workflows/${workflowId}/runs/${run.runId}`)).data.status;

  async function readEvents(): Promise<object[]> {
    const { rows } = await sql<{ action: string; outcome: string | null }>`
      select action, outcome from audit where resource_type = 'run' order by created_at`.execute(
      getDatabase(),
    );
    return rows.map(({ action, outcome }) => ({ action, outcome }));
  }

  /** Returns the action that causes this event. It acts on the paused run, or on a new completed run. */
  async function prepareAction(event: string): Promise<Action> {
    if (event === 'RUN_CANCELLED') {
      const isDone = async () => (await readStatus()) === 'cancelled';
      return { event, path: pathOf(run.runId, 'cancel'), isDone };
    }
    if (event === 'RUN_RESUMED') {
      const [pause] = (await api.engine.getRun(run.runId)).pauses;
      const body = { contextId: pause?.token, input: { ok: true } };
      const isDone = async () => (await readStatus()) === 'completed';
      return { event, path: pathOf(run.runId, 'resume'), body, isDone };
    }
    workflowId = await api.deploy(REPLY_WORKFLOW);
    const response = await api.call<RunResponse>('POST', `/api/v2/workflows/${workflowId}/execute`, {
      body: {},
    });
    const countRuns = async () =>
      (await api.call<unknown[]>('GET', `/api/v2/workflows/${workflowId}/runs`)).data.length;
    return {
      event,
      path: pathOf(response.data.runId, 'rerun'),
      isDone: async () => (await countRuns()) === 2,
    };
  }

  const EVENTS = ['RUN_CANCELLED', 'RUN_RESUMED', 'RUN_RERUN'];
  const send = ({ path, body }: Action) => api.call('POST', path, body ? { body } : {});

  it.each(EVENTS)('%s is recorded after the engine has executed the action', async (event) => {
    const action = await prepareAction(event);
    expect((await send(action)).status).toBeLessThan(300);
    expect(await readEvents()).toEqual([{ action: event, outcome: null }]);
  });

  it.each(EVENTS)(
    '%s is stored before the engine acts: if this fails, the engine does not act',
    async (event) => {
      const action = await prepareAction(event);
      await sql`create trigger full before insert on audit begin select raise(abort, 'The disk is full.'); end`.execute(
        getDatabase(),
      );
      expect((await send(action)).status).toBe(500);
      expect(await action.isDone()).toBe(false);
    },
  );

  it.each(EVENTS)('%s is not lost when the process ends after the action', async (event) => {
    const action = await prepareAction(event);
    // As after a crash, the service cannot update the event after the action.
    await sql`create trigger ended before update on audit begin select raise(abort, 'The process has ended.'); end`.execute(
      getDatabase(),
    );
    expect((await send(action)).status).toBe(500);
    await expect.poll(() => action.isDone()).toBe(true);
    expect(await readEvents()).toEqual([{ action: event, outcome: 'intended' }]);
  });

  it('is deleted when the action is refused, or has no effect', async () => {
    const body = { contextId: 'unknown', input: { ok: true } };
    expect((await api.call('POST', pathOf(run.runId, 'resume'), { body })).status).toBeLessThan(500);
    const rerunPath = pathOf(run.runId, 'rerun');
    expect((await api.call('POST', rerunPath, { body: { blockId: 'unknown' } })).status).toBeLessThan(500);
    expect(await readEvents()).toEqual([]);
    await api.call('POST', pathOf(run.runId, 'cancel'));
    const secondCancelResponse = await api.call('POST', pathOf(run.runId, 'cancel'));
    expect(secondCancelResponse).toMatchObject({ status: 200, data: { success: false } });
    expect(await readEvents()).toEqual([{ action: 'RUN_CANCELLED', outcome: null }]);
  });

  it('stays when the outcome of the action is unknown', async () => {
    const { path } = await prepareAction('RUN_CANCELLED');
    const { engine } = api;
    const cancel = () => Promise.reject(new Error('The connection was lost.'));
    const apiWithFailingCancel = await createTestApi({
      store: api.store,
      engine: new Proxy(engine, {
        get(target, name) {
          const value: unknown = name === 'cancel' ? cancel : Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
    });
    expect((await apiWithFailingCancel.call('POST', path, { key: api.key })).status).toBe(500);
    expect(await readEvents()).toEqual([{ action: 'RUN_CANCELLED', outcome: 'intended' }]);
  });
});
