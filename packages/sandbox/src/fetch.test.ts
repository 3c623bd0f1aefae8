import { afterAll, describe, expect, it } from 'vitest';
import { startEchoServer } from '../../../test/support/echo-server.ts';
import { valueIn } from '../../../test/support/outcome.ts';
import { createSandbox } from './index.ts';

const server = await startEchoServer();
const { url } = server;
const sandbox = createSandbox({ maxProcesses: 1, egress: { allowPrivate: ['127.0.0.1/32'], ports: 'any' } });
afterAll(async () => {
  await sandbox.close();
  server.close();
});

const valueOf = async (code: string): Promise<unknown> =>
  valueIn(await sandbox.run({ runId: 'fetch', code, globals: { url: JSON.stringify(url) } }));

describe('fetch in user code', () => {
  it('returns status, headers and JSON', async () => {
    expect(
      await valueOf(
        'const r = await fetch(url + "/a"); return [r.ok, r.status, r.statusText, r.url === url + "/a", r.headers.get("X-Own"), r.headers.has("nope"), (await r.json()).method]',
      ),
    ).toEqual([true, 200, 'OK', true, 'yes', false, 'GET']);
    expect(await valueOf('const r = await fetch(new URL("/no", url)); return [r.ok, r.status]')).toEqual([
      false,
      404,
    ]);
  });

  it('sends strings, forms, bytes and headers', async () => {
    const echoOf = (init: string): Promise<unknown> =>
      valueOf(`return (await fetch(url, { method: "POST", ...${init} })).json()`);
    expect(await echoOf('{ body: "hé", headers: { "X-Own": "1" } }')).toMatchObject({
      method: 'POST',
      type: 'text/plain;charset=UTF-8',
      own: '1',
      body: 'aMOp',
    });
    expect(await echoOf('{ body: new URLSearchParams({ a: "b c" }) }')).toMatchObject({
      type: 'application/x-www-form-urlencoded;charset=UTF-8',
      body: 'YT1iK2M=',
    });
    expect(
      await echoOf('{ body: new Uint8Array([0, 255, 7]), headers: new Headers({ "content-type": "x/y" }) }'),
    ).toMatchObject({ type: 'x/y', body: 'AP8H' });
  });

  it('returns bytes, and lets its body be read only once', async () => {
    expect(
      await valueOf(
        'const r = await fetch(url + "/bytes"); const b = new Uint8Array(await r.arrayBuffer()); let again; try { await r.text() } catch (e) { again = e.name } return [[...b], r.bodyUsed, again]',
      ),
    ).toEqual([[0, 255, 128, 10], true, 'TypeError']);
  });

  it('rejects with EGRESS_DENIED and a message that names the host', async () => {
    expect(
      await valueOf(
        'try { await fetch("http://10.9.8.7/") } catch (e) { return [e instanceof Error, e.code, e.message] }',
      ),
    ).toEqual([true, 'EGRESS_DENIED', expect.stringContaining('10.9.8.7 is a private address')]);
  });

  it('fails the job with USER_ERROR if its rejection is not caught', async () => {
    const outcome = await sandbox.run({ runId: 'fetch', code: '\nawait fetch("http://10.9.8.7/")' });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'USER_ERROR' } });
  });

  it('can be aborted by user code', async () => {
    expect(
      await valueOf(
        'try { await fetch(url + "/silent", { signal: AbortSignal.timeout(20) }) } catch (e) { return e.name }',
      ),
    ).toBe('TimeoutError');
  });

  it('keeps concurrent requests independent', async () => {
    expect(
      await valueOf(
        'const all = await Promise.all([1, 2, 3, 4, 5].map((n) => fetch(url, { method: "POST", body: String(n) }).then((r) => r.json()))); return all.map((r) => atob(r.body))',
      ),
    ).toEqual(['1', '2', '3', '4', '5']);
  });
});
