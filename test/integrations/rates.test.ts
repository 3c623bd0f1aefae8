import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks } from '@heddle/blocks';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';

/** A service that refuses the key "slow" for two minutes, with the keys of its requests. */
async function startService() {
  const keys: string[] = [];
  const server = createServer((request, response) => {
    const key = String(request.headers.authorization).slice('Bearer '.length);
    keys.push(key);
    const [status, more] = key === 'slow' ? [429, { 'retry-after': '120' }] : [200, {}];
    response.writeHead(status, { 'content-type': 'application/json', ...more }).end('{"id": "1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { keys, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Returns what calls the service with a key. */
async function caller(address: string, options: EngineOptions = {}) {
  const engine = await createEngine({ blocks: blocks(), services: { resend: address }, ...options });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return (apiKey: string) => {
    const fields = { operation: 'get_email', emailId: '1', apiKey };
    return engine.execute({ workflow: workflow([block('A', 'resend', fields)], ['Start -> A']) });
  };
}

describe('a key that a service refuses for a time', () => {
  it('is not used until then, while others are', async () => {
    const { address, keys } = await startService();
    const call = await caller(address);
    expect((await call('slow')).error?.message).toMatch(/answered 429/);
    const { error } = await call('slow');
    expect(error).toMatchObject({ code: 'HTTP_FAILED', details: { status: 429 } });
    expect(error?.message).toMatch(
      /"resend" was not called: it has refused calls with this credential for another 1\d\d s/,
    );
    expect(await call('other')).toMatchObject({ status: 'completed' });
    expect(keys).toEqual(['slow', 'other']);
  });

  it('is still used at another address', async () => {
    const [first, second] = [await startService(), await startService()];
    await (
      await caller(first.address)
    )('slow');
    await (
      await caller(second.address)
    )('slow');
    expect([first.keys, second.keys]).toEqual([['slow'], ['slow']]);
  });

  it.skipIf(!hasPostgres)('is not used by other processes either', async () => {
    const { address, keys } = await startService();
    const postgres = { url: await postgresDatabase() };
    const [one, other] = [await caller(address, { postgres }), await caller(address, { postgres })];
    await one('slow');
    expect((await other('slow')).error?.message).toMatch(/was not called/);
    expect(keys).toEqual(['slow']);
  });
});
