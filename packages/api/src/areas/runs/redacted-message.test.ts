import { EngineError } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import {
  openServiceStore,
  tenantOptionsOf,
  findQueuedStart,
  findReservation,
  createTestApi,
} from '../../../../../test/support/api.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';
import { overrideMethods } from '../../../../../test/support/override-methods.ts';
import { fn, workflow } from '../../../../../test/support/workflow.ts';

const SECRET = 'sk-very-secret';
const SECRET_READING_WORKFLOW = workflow([fn('F', 'return {{KEY}}.length')], ['Start -> F']);
const PLAIN_WORKFLOW = workflow([fn('F', 'return <start.text>')], ['Start -> F']);
const FILE_WORKFLOW = workflow([fn('F', 'return {{KEY}}.length')], ['Start -> F'], {
  inputFormat: [{ id: 'd', name: 'doc', type: 'file[]' }],
});

/** Returns an API whose queued runs do not start; `rejectStarts` makes them fail with an error. */
async function createApiWithPendingStarts() {
  const store = await openServiceStore();
  const environments = {
    names: () => ['KEY'],
    values: () => ({ KEY: SECRET }),
  };
  const options: EngineOptions = { ...tenantOptionsOf(store), environments };
  const engine = await createEngine(options);
  const { promise: start, reject } = Promise.withResolvers<never>();
  start.catch(() => undefined);
  const api = await createTestApi({ store, engine: overrideMethods(engine, { start: () => start }) });
  const queueRun = async (id: string) => {
    const response = await api.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, {
      body: { async: true, input: { text: `with ${SECRET}` } },
    });
    expect(response.status).toBe(202);
    return response.data.runId;
  };
  return { ...api, queueRun, rejectStarts: reject };
}

describe('records of queued runs', () => {
  it('have no secrets that their blocks can read, in inputs and failures', async () => {
    const { queueRun, rejectStarts, store, deploy, call } = await createApiWithPendingStarts();
    const id = await deploy(SECRET_READING_WORKFLOW);
    const runId = await queueRun(id);
    expect(await findQueuedStart(store, runId)).toMatchObject({
      input: { text: 'with «redacted:KEY»' },
    });
    rejectStarts(new EngineError('INPUT_INVALID', `The input "${SECRET}" does not fit.`));
    await expect.poll(async () => (await findReservation(store, runId))?.failure).toBeDefined();
    expect(await call('GET', `/api/v2/workflows/${id}/runs/${runId}`)).toMatchObject({
      data: { status: 'failed', error: { message: 'The input "«redacted:KEY»" does not fit.' } },
    });
    expect(JSON.stringify(await findReservation(store, runId))).not.toContain(SECRET);
  });

  it('are unchanged for workflows that read no secrets', async () => {
    const { queueRun, rejectStarts, store, deploy } = await createApiWithPendingStarts();
    const runId = await queueRun(await deploy(PLAIN_WORKFLOW));
    expect(JSON.stringify(await findQueuedStart(store, runId))).toContain(SECRET);
    rejectStarts(new EngineError('INPUT_INVALID', 'It does not fit.'));
    await expect.poll(() => findQueuedStart(store, runId)).toBeUndefined();
  });

  it('have no secrets in the failures of files that cannot be stored', async () => {
    const { store, deploy, call, rejectStarts, workspaceId } = await createApiWithPendingStarts();
    const id = await deploy(FILE_WORKFLOW);
    const runId = crypto.randomUUID();
    const doc = [{ type: 'url', name: `${SECRET}.txt`, data: 'ftp://host.test/x' }];
    const response = await call('POST', `/api/v2/workflows/${id}/execute`, {
      body: { input: { doc } },
      headers: { 'X-Run-Id': runId },
    });
    expect(response.status).toBe(400);
    const reservation = (await store.reservations.findByRunId(runId, [workspaceId]))[0];
    expect(reservation?.failure?.message).toMatch(/File processing failed.*«redacted:KEY»/);
    expect(JSON.stringify(reservation)).not.toContain(SECRET);
    rejectStarts(new Error('nothing is started'));
  });
});
