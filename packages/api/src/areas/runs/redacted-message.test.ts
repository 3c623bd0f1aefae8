import { EngineError } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { testApi } from '../../../../../test/support/api.ts';
import type { ShownRun } from '../../../../../test/support/api-workflows.ts';
import { fn, workflow } from '../../../../../test/support/workflow.ts';

const SECRET = 'sk-very-secret';
const READING = workflow([fn('F', 'return {{KEY}}.length')], ['Start -> F']);
const PLAIN = workflow([fn('F', 'return <start.text>')], ['Start -> F']);
const FILES = workflow([fn('F', 'return {{KEY}}.length')], ['Start -> F'], {
  inputFormat: [{ id: 'd', name: 'doc', type: 'file[]' }],
});

/** An API in which accepted runs do not start before `start` says how that ends. */
async function open() {
  const tenants = {
    names: () => ['KEY'],
    values: () => ({ KEY: SECRET }),
  };
  const options: EngineOptions = { tenant: () => 'a', environments: tenants };
  const engine = await createEngine(options);
  const { promise: started, reject } = Promise.withResolvers<never>();
  started.catch(() => undefined);
  const holding = Object.create(engine, { start: { value: () => started } }) as Engine;
  const api = await testApi({ engine: holding });
  const accept = async (id: string) => {
    const answer = await api.call<ShownRun>('POST', `/api/v2/workflows/${id}/execute`, {
      body: { async: true, input: { text: `with ${SECRET}` } },
    });
    expect(answer.status).toBe(202);
    return answer.data.runId;
  };
  return { ...api, accept, refuse: reject };
}

describe('what the service keeps of runs that have not begun', () => {
  it('has no secrets that their blocks can read: inputs that wait, and why they failed', async () => {
    const { accept, refuse, store, deployed, call } = await open();
    const id = await deployed(READING);
    const runId = await accept(id);
    expect(JSON.parse((await store.reservations.find(runId))?.waiting ?? '')).toMatchObject({
      input: { text: 'with «redacted:KEY»' },
    });
    refuse(new EngineError('INPUT_INVALID', `The input "${SECRET}" does not fit.`));
    await expect.poll(async () => (await store.reservations.find(runId))?.failure).toBeTypeOf('string');
    expect(await call('GET', `/api/v2/workflows/${id}/runs/${runId}`)).toMatchObject({
      data: { status: 'failed', error: { message: 'The input "«redacted:KEY»" does not fit.' } },
    });
    expect(JSON.stringify(await store.reservations.find(runId))).not.toContain(SECRET);
  });

  it('is kept as it is for workflows that can read none', async () => {
    const { accept, refuse, store, deployed } = await open();
    const runId = await accept(await deployed(PLAIN));
    expect((await store.reservations.find(runId))?.waiting).toContain(SECRET);
    refuse(new EngineError('INPUT_INVALID', 'It does not fit.'));
    await expect.poll(async () => (await store.reservations.find(runId))?.waiting).toBeNull();
  });

  it('has no secrets of files that could not be taken', async () => {
    const { store, deployed, call, refuse, workspaceId } = await open();
    const id = await deployed(FILES);
    const runId = crypto.randomUUID();
    const doc = [{ type: 'url', name: `${SECRET}.txt`, data: 'ftp://host.test/x' }];
    const answer = await call('POST', `/api/v2/workflows/${id}/execute`, {
      body: { input: { doc } },
      headers: { 'X-Run-Id': runId },
    });
    expect(answer.status).toBe(400);
    const claim = await store.reservations.findIn(workspaceId, runId);
    expect(claim?.failure).toMatch(/File processing failed.*«redacted:KEY»/);
    expect(claim?.failure).not.toContain(SECRET);
    refuse(new Error('nothing is started'));
  });
});
