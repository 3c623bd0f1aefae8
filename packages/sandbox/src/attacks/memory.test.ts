import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox, type FunctionOutcome } from '../index.ts';

const sandbox = createSandbox({ maxProcesses: 1, limits: { cpuMs: 25_000, memoryMiB: 32 } });
afterAll(() => sandbox.close());

const run = (code: string): Promise<FunctionOutcome> => sandbox.run({ runId: 'memory', code });

async function ending(code: string): Promise<string> {
  const outcome = await run(code);
  return outcome.ok ? outcome.json : outcome.error.code;
}

describe('attacks on memory', () => {
  it.each([
    ['arrays', 'const a = []; for (;;) a.push(new Array(1000).fill(Math.random()))'],
    ['objects', 'let a = {}; for (let i = 0; ; i++) a = { a, i, s: "x" + i }'],
    ['a map', 'const m = new Map(); for (let i = 0; ; i++) m.set("key" + i, { i })'],
    ['promises', 'const a = []; for (;;) a.push(new Promise(() => {}).then(() => {}))'],
    ['one huge array', 'return new Array(5e7).fill(1.5).length'],
    ['growing strings', 'let s = "x"; for (;;) { s += s; s.indexOf("y") }'],
  ])('%s end with OUT_OF_MEMORY or a RangeError', async (_what, code) => {
    const outcome = await run(code);
    expect(outcome).toMatchObject({ ok: false });
    const { code: ended, name } = outcome.ok ? { code: 'OK', name: '' } : outcome.error;
    expect(name === 'RangeError' ? 'OUT_OF_MEMORY' : ended).toBe('OUT_OF_MEMORY');
    expect(await ending('return 1')).toBe('1');
  });

  it('typed arrays count against the limit', async () => {
    expect(await run('const k = []; for (;;) k.push(new Uint8Array(1e6).fill(1))')).toMatchObject({
      ok: false,
      error: { name: 'RangeError' },
    });
  });

  it('buffers cannot grow past the limit in place', async () => {
    expect(
      await ending(
        'const b = new ArrayBuffer(8, { maxByteLength: 2 ** 32 }); try { b.resize(2 ** 31) } catch (e) { return e.name } return b.byteLength',
      ),
    ).toBe('"TypeError"');
    expect(await ending('return typeof SharedArrayBuffer + typeof WebAssembly')).toBe('"undefinedundefined"');
  });

  it.each([
    ['plain', 'function f() { return f() } f()'],
    [
      'with the error’s constructor',
      'function f() { try { f() } catch (e) { return e.constructor.constructor("return 1")() } } return f()',
    ],
    ['of nested JSON', 'let t = ""; for (let i = 0; i < 1e5; i++) t += "["; JSON.parse(t)'],
    ['of a nested result', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a'],
    ['in toJSON', 'const o = { toJSON() { return JSON.stringify(o) } }; return o'],
    ['in a proxy', 'const p = new Proxy({}, { get(t, k, r) { return r[k] } }); return p.x'],
  ])('deep recursion, %s, does not harm the process', async (_what, code) => {
    const { processes } = sandbox.stats();
    await run(code);
    expect(await ending('return 1')).toBe('1');
    expect(sandbox.stats().totals['SANDBOX_CRASHED'] ?? 0).toBe(0);
    expect(sandbox.stats().processes).toBe(Math.max(1, processes));
  });

  it('built-ins called at the end of the stack do not harm the process', async () => {
    const code = `const seen = new Set(); const functions = [];
      const collect = (holder, depth) => {
        if (holder === null || (typeof holder !== 'object' && typeof holder !== 'function') || seen.has(holder)) return;
        seen.add(holder);
        if (typeof holder === 'function') functions.push(holder);
        if (depth === 0) return;
        for (const key of Reflect.ownKeys(holder)) {
          const { value, get, set } = Reflect.getOwnPropertyDescriptor(holder, key);
          for (const part of [value, get, set]) collect(part, depth - 1);
        }
        collect(Reflect.getPrototypeOf(holder), depth - 1);
      };
      collect(globalThis, 4);
      const { apply } = Reflect; let called = 0;
      for (const target of functions) {
        if (['eval', 'structuredClone', 'fetch'].includes(target.name)) continue;
        let done = false;
        const descend = () => {
          try { descend() } catch {}
          if (done) return;
          done = true;
          called++;
          try { apply(target, [], [[], () => 0, 'x']) } catch {}
          try { new target('x') } catch {}
        };
        try { descend() } catch {}
      }
      return called > 500`;
    const outcome = await sandbox.run({
      runId: 'fuzz',
      code,
      limits: { cpuMs: 20_000, wallMs: 25_000, timers: 10_000 },
    });
    expect(outcome).toMatchObject({ ok: true, json: 'true' });
  });

  it('an isolate that ran out of memory does not take blocks of other runs with it', async () => {
    const waiting = sandbox.run({
      runId: 'other',
      code: 'await new Promise((r) => setTimeout(r, 300)); return "alive"',
    });
    expect(await ending('const a = []; for (;;) a.push(new Array(1000).fill(Math.random()))')).toBe(
      'OUT_OF_MEMORY',
    );
    expect(await waiting).toMatchObject({ ok: true, json: '"alive"' });
  });

  it('a block that shares its run’s isolate is run again when that ran out of memory', async () => {
    const waiting = sandbox.run({
      runId: 'memory',
      code: 'await new Promise((r) => setTimeout(r, 300)); return "again"',
    });
    expect(await ending('const a = []; for (;;) a.push(new Array(1000).fill(Math.random()))')).toBe(
      'OUT_OF_MEMORY',
    );
    expect(await waiting).toMatchObject({ ok: true, json: '"again"' });
  });
});
