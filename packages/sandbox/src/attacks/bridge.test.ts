import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox, type FunctionOutcome, type Limits } from '../index.ts';

const requested: string[] = [];
const sandbox = createSandbox({
  maxProcesses: 1,
  limits: { cpuMs: 1_000, wallMs: 2_000 },
  fetch: async ({ url }) => {
    requested.push(url);
    return {
      status: 200,
      statusText: 'OK',
      url,
      redirected: false,
      headers: [['x-a', '1']],
      body: new TextEncoder().encode(url),
    };
  },
});
afterAll(() => sandbox.close());

const run = (code: string, limits: Partial<Limits> = {}): Promise<FunctionOutcome> =>
  sandbox.run({ runId: 'bridge', code, limits });

async function ending(code: string, limits: Partial<Limits> = {}): Promise<string> {
  const outcome = await run(code, limits);
  return outcome.ok ? outcome.json : outcome.error.code;
}

describe('forged and polluted messages', () => {
  it('a polluted Object.prototype does not change the result', async () => {
    expect(
      await ending(
        'Object.defineProperty(Object.prototype, "t", { get() { return "call" }, set() {} }); Object.prototype.value = 9; Object.prototype.get = () => { throw 1 }; Object.prototype.writable = false; return { a: 1 }',
      ),
    ).toBe('{"a":1}');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('a result with __proto__ pollutes nothing in the host', async () => {
    expect(await ending('return JSON.parse(\'{"__proto__":{"polluted":1}}\')')).toBe(
      '{"__proto__":{"polluted":1}}',
    );
    expect(await ending('return { constructor: { prototype: { polluted: 1 } } }')).toBe(
      '{"constructor":{"prototype":{"polluted":1}}}',
    );
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each([
    ['JSON', 'JSON.stringify = () => "forged"; JSON.parse = () => ({}); return { a: 1 }'],
    [
      'Promise and Map',
      'Promise.prototype.then = () => { throw 1 }; Map.prototype.get = () => 0; Map.prototype.set = () => 0; return { a: 1 }',
    ],
    [
      'String, Function and Reflect',
      'String.prototype.slice = () => ({}); Function.prototype.call = () => { throw 1 }; Function.prototype.apply = () => { throw 1 }; Reflect.apply = () => { throw 1 }; console.log("a".repeat(9)); return { a: 1 }',
    ],
    [
      'Array',
      'Array.prototype.push = () => { throw 1 }; Array.prototype[Symbol.iterator] = () => { throw 1 }; Object.defineProperty(Array.prototype, "0", { set() { throw 1 } }); return { a: 1 }',
    ],
    ['Error', 'Error = null; TypeError = null; globalThis.Object = null; return { a: 1 }'],
  ])('replaced built-ins do not disturb the plumbing: %s', async (_what, code) => {
    expect(await ending(code)).toBe('{"a":1}');
  });

  it('a host call works after its built-ins were replaced', async () => {
    expect(
      await ending(
        'Map.prototype.set = () => {}; Map.prototype.get = () => ({ resolve() {}, reject() {} }); return (await fetch("http://a.test/")).status',
      ),
    ).toBe('200');
  });

  it('toJSON on Object.prototype forges only the own result', async () => {
    const before = requested.length;
    await run(
      'Object.prototype.toJSON = function () { return { t: "call", op: "fetch", url: "http://evil.test/" } }; return { a: 1 }',
    );
    expect(requested.slice(before)).toEqual([]);
  });

  it('what happens after the result is ignored', async () => {
    const before = requested.length;
    const outcome = await run(
      'Promise.resolve().then(() => 0).then(() => 0).then(() => { for (let i = 0; i < 50; i++) Promise.resolve() }); setTimeout(() => { console.log("after"); fetch("http://late.test/") }, 5); return "first"',
    );
    expect(outcome).toMatchObject({ ok: true, json: '"first"', stdout: '' });
    await run('await new Promise((r) => setTimeout(r, 20))');
    expect(requested.slice(before)).toEqual([]);
  });

  it('functions and proxies do not cross', async () => {
    expect(
      await ending('return Object.defineProperty({}, "a", { enumerable: true, get() { return fetch } })'),
    ).toBe('{}');
    expect(await ending('return new Proxy({ a: 1 }, {})')).toBe('{"a":1}');
  });

  it('strange timer arguments are harmless', async () => {
    expect(
      await ending(
        'setTimeout(() => {}, { valueOf() { return -1 } }); setTimeout(() => {}, Infinity); setTimeout(() => {}, 1e300); setTimeout(() => {}, NaN); clearTimeout({}); clearTimeout("x"); return "ok"',
      ),
    ).toBe('"ok"');
  });

  it('hostile requests of fetch are refused or carried as data', async () => {
    const before = requested.length;
    expect(
      await ending(
        'return await fetch({ toString() { return "http://a.test/" + "\\u0000\\u2028" } }, { method: "GET" }).then((r) => r.status, (e) => e.code)',
      ),
    ).toBe('200');
    expect(
      await ending(
        'return await fetch("x", { method: { toString() { throw new Error("m") } } }).catch((e) => e.message)',
      ),
    ).toBe('"m"');
    expect(requested.length).toBe(before + 1);
  });
});

describe('floods', () => {
  it.each<[string, string, Partial<Limits>]>([
    ['timers', 'for (;;) setTimeout(() => {}, 1000)', { timers: 50, cpuMs: 200 }],
    [
      'host calls',
      'for (let i = 0; i < 99; i++) fetch("http://a.test/"); await new Promise(() => {})',
      { hostCalls: 20 },
    ],
    [
      'messages',
      'for (let i = 0; i < 999; i++) clearTimeout(setTimeout(() => {}, 1)); await new Promise(() => {})',
      { messages: 100 },
    ],
    [
      'bytes to the host',
      'await fetch("http://a.test/", { method: "POST", body: "x".repeat(20000) })',
      { bridgeChars: 10_000 },
    ],
    ['bytes from the host', 'await fetch("http://a.test/" + "x".repeat(600))', { bridgeChars: 1_000 }],
    [
      'random bytes',
      'for (;;) crypto.getRandomValues(new Uint8Array(65536))',
      { bridgeChars: 1_000_000, cpuMs: 400 },
    ],
  ])('of %s end with BRIDGE_LIMIT', async (_what, code, limits) => {
    expect(await ending(code, limits)).toBe('BRIDGE_LIMIT');
    expect(await ending('return 1')).toBe('1');
  });

  it('of console lines are cut and cost the guest only', async () => {
    const outcome = await run('for (;;) console.log("x".repeat(1000))', { cpuMs: 200, stdoutChars: 5_000 });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'TIMEOUT_CPU' } });
    expect(outcome.stdout.length).toBeLessThan(5_100);
  });

  it('a result over its limit is RESULT_TOO_LARGE', async () => {
    expect(await ending('return "x".repeat(2000)', { resultChars: 1_000 })).toBe('RESULT_TOO_LARGE');
  });

  it('inputs and code over their limits are INPUT_TOO_LARGE', async () => {
    expect(
      await sandbox.run({
        runId: 'b',
        code: 'return 1',
        values: { v: JSON.stringify('x'.repeat(99)) },
        limits: { inputChars: 50 },
      }),
    ).toMatchObject({ ok: false, error: { code: 'INPUT_TOO_LARGE' } });
    expect(await ending(`return 1 // ${'x'.repeat(100)}`, { codeChars: 50 })).toBe('INPUT_TOO_LARGE');
  });
});
