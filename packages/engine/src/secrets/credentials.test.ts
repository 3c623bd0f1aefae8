import type { JsonObject } from '@heddle/core';
import { BlockError } from '@heddle/core/blocks';
import { expect, it, onTestFinished } from 'vitest';
import { block, fn, workflow } from '../../../../test/support/workflow.ts';
import { createEngine } from '../create.ts';
import type { EngineExecutor } from '../executors/services.ts';
import type { EngineOptions } from '../options.ts';
import type { CredentialQuery, TenantCredentials } from './credentials.ts';

const SECRET = 'sk-the-key-of-the-workspace';
const CREDENTIAL = {
  id: 'c1',
  type: 'api_key',
  provider: 'shop',
  name: 'The shop',
  secret: SECRET,
} as const;

/**
 * Returns an executor that waits for `ready`, gets the credential for its field `query`, and puts the secret into all
 * kinds of run data.
 */
const createCredentialExecutor = (ready: Promise<void>): EngineExecutor => ({
  types: ['use'],
  class: 'effect',
  async execute(context) {
    await ready;
    const credential = await context.services.credential(context.field('query', 'json') as CredentialQuery);
    if (!credential) return { output: { found: false, secret: null } };
    context.emit({ type: 'text', text: `I have ${credential.secret}` });
    await context.step('call', async () => ({ echoed: credential.secret }));
    if (context.field('fails') === true) throw new BlockError('SHOP_FAILED', `401 for ${credential.secret}`);
    return { output: { found: true, secret: credential.secret, inside: [`Bearer ${credential.secret}`] } };
  },
});

interface TestRun {
  credentials: TenantCredentials;
  fields?: JsonObject;
  engineOptions?: EngineOptions;
}

/** Runs a block with these fields, and a block that reads its output. `visibleData`: all data that callers can read. */
async function run({ credentials, fields = {}, engineOptions: options }: TestRun) {
  const errors: unknown[] = [];
  const { promise: ready, resolve: signalReady } = Promise.withResolvers<void>();
  const engine = await createEngine({
    blocks: [createCredentialExecutor(ready)],
    tenantCredentials: credentials,
    tenant: () => 'a',
    onError: (error) => void errors.push(error),
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const useBlock = block('Use', 'use', { query: { provider: 'shop', type: 'api_key' }, ...fields });
  const definition = workflow([useBlock, fn('Next', 'return [<use.secret>]')], ['Start -> Use -> Next']);
  const startedRun = await engine.start({ workflow: definition }, {});
  const iterator = startedRun.events()[Symbol.asyncIterator]();
  const events: unknown[] = [];
  let nextEvent = iterator.next();
  signalReady();
  for (let event = await nextEvent; event.done !== true; event = await nextEvent) {
    events.push(event.value);
    nextEvent = iterator.next();
  }
  const result = await startedRun.result();
  const { runId } = startedRun;
  const visibleData = JSON.stringify([
    result,
    events,
    await engine.getRun(runId),
    await engine.getLogs(runId),
  ]);
  return { result, visibleData, errors };
}

it('gives a block the credential of its tenant, and redacts it in all data of the run', async () => {
  const queries: unknown[] = [];
  const find: TenantCredentials['find'] = (...query) => {
    queries.push(query);
    return CREDENTIAL;
  };
  const { result, visibleData } = await run({ credentials: { find } });
  expect(queries).toEqual([['a', { provider: 'shop', type: 'api_key' }]]);
  expect(result).toMatchObject({
    status: 'completed',
    output: { result: ['«redacted:The_shop»'] },
  });
  for (const text of ['I have ', '«redacted:The_shop»'])
    expect(visibleData).toContain(JSON.stringify({ type: 'text', text }));
  expect(visibleData).not.toContain(SECRET);
});

it('redacts the credential in the error of the block', async () => {
  const { result, visibleData } = await run({
    credentials: { find: () => CREDENTIAL },
    fields: { fails: true },
  });
  expect(result).toMatchObject({ error: { code: 'SHOP_FAILED', message: '401 for «redacted:The_shop»' } });
  expect(visibleData).not.toContain(SECRET);
});

it('also calls the source for a workflow without a tenant, and returns undefined for an unknown credential', async () => {
  const queries: unknown[] = [];
  const find: TenantCredentials['find'] = (tenant) => void queries.push(tenant);
  const { result } = await run({ credentials: { find }, engineOptions: { tenant: () => undefined } });
  expect(result).toMatchObject({ status: 'completed', output: { result: [null] } });
  expect(queries).toEqual([undefined]);
});

it('fails the block with the error of the source, and reports an unexpected error of the source without showing it', async () => {
  const refusedRun = await run({
    credentials: {
      find() {
        throw new BlockError('CREDENTIAL_RECONNECT', 'Connect "The shop" again.', { retryable: false });
      },
    },
  });
  expect(refusedRun.result.error).toMatchObject({
    code: 'CREDENTIAL_RECONNECT',
    message: 'Connect "The shop" again.',
  });
  expect(refusedRun.errors).toEqual([]);
  const brokenRun = await run({
    credentials: {
      find() {
        throw new Error('unreachable: db.internal');
      },
    },
  });
  expect(brokenRun.result.error).toMatchObject({ code: 'CREDENTIAL_UNAVAILABLE' });
  expect(brokenRun.visibleData).not.toContain('db.internal');
  expect(brokenRun.errors).toMatchObject([{ message: 'unreachable: db.internal' }]);
});
