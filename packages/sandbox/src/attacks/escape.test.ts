import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../index.ts';

const sandbox = createSandbox({ maxProcesses: 1, limits: { cpuMs: 1_000, wallMs: 2_000 } });
afterAll(() => sandbox.close());

async function value(code: string): Promise<unknown> {
  const outcome = await sandbox.run({ runId: 'escape', code });
  return outcome.ok ? JSON.parse(outcome.json) : outcome.error.code;
}

/** What only Node's realm has. */
const PROBE =
  'return typeof require + typeof process + typeof module + typeof Buffer.constructor("return process")';

describe('ways out of the guest', () => {
  it('no name of Node is defined', async () => {
    const names = [
      'process',
      'require',
      'module',
      'exports',
      '__dirname',
      '__filename',
      'global',
      'Deno',
      'Bun',
      'gc',
      'd8',
      'ShadowRealm',
      'importScripts',
    ];
    expect(
      await value(
        `return ${JSON.stringify(names)}.filter((name) => typeof globalThis[name] !== 'undefined')`,
      ),
    ).toEqual([]);
  });

  it('no name of the plumbing is defined', async () => {
    expect(
      await value(
        'return Object.getOwnPropertyNames(globalThis).filter((name) => /ivm|isolate|^reference$|externalcopy|heddle|post|bridge|host/i.test(name))',
      ),
    ).toEqual([]);
  });

  it('import() loads nothing', async () => {
    expect(await value('return await import("node:fs").then(() => "LOADED", () => "refused")')).toBe(
      'refused',
    );
    expect(
      await value(
        'return await import("data:text/javascript,export default 1").then(() => "LOADED", () => "refused")',
      ),
    ).toBe('refused');
  });

  it.each([
    ['this', 'this?.constructor?.constructor'],
    ['fetch', 'fetch.constructor'],
    ['console.log', 'console.log.constructor'],
    ['setTimeout', 'setTimeout.constructor'],
    ['crypto.getRandomValues', 'crypto.getRandomValues.constructor'],
    ['a value', 'v.constructor.constructor'],
    ['a host error', '(await fetch("http://127.0.0.1/").catch((e) => e)).constructor.constructor'],
    ['the async function itself', '(async () => {}).constructor'],
    ['the getter of a global', 'Function'],
  ])('the constructor chain of %s ends in the guest', async (_what, constructor) => {
    const code = `const F = ${constructor}; return F === Function || F === (async () => {}).constructor ? await F(${JSON.stringify(PROBE.replace('Buffer.constructor("return process")', 'globalThis.process'))})() : "foreign"`;
    const outcome = await sandbox.run({ runId: 'escape', code, values: { v: '{}' } });
    expect(outcome).toMatchObject({ ok: true, json: '"undefinedundefinedundefinedundefined"' });
  });

  it('errors of the host are errors of the guest', async () => {
    expect(
      await value(
        'try { await fetch("http://10.0.0.1/") } catch (e) { return [e instanceof Error, Object.getPrototypeOf(e) === Error.prototype, e.code] }',
      ),
    ).toEqual([true, true, 'EGRESS_DENIED']);
  });

  it('call sites give neither functions nor receivers of the plumbing', async () => {
    const code = `Error.prepareStackTrace = (e, sites) => sites; const seen = [];
      const look = () => { for (const site of new Error().stack) { const f = site.getFunction(); const t = site.getThis(); if (t !== undefined && t !== globalThis) seen.push("this"); if (f !== undefined && !String(f).includes("look")) seen.push(String(f).slice(0, 40)) } };
      look(); await new Promise((done) => setTimeout(() => { look(); done() }, 1)); return seen.filter((s) => !s.includes("anonymous"))`;
    expect(await value(code)).toEqual([]);
  });

  it.each([
    ['a closed wrapper', '}); globalThis.pwned = 1; (async () => {'],
    ['a closed function', '} globalThis.pwned = 1; async function x() {'],
    ['natives syntax', 'return %DebugPrint(1)'],
    ['import.meta', 'return import.meta.url'],
    ['an import statement', 'import fs from "node:fs"'],
  ])('%s does not compile', async (_what, code) => {
    expect(await value(code)).toBe('SYNTAX_ERROR');
  });

  it('a source name of its own does not reach files', async () => {
    expect(await value('return 1 /* */ ; //# sourceURL=/etc/passwd\n<!-- html comment')).toBe(1);
  });

  it('a hostile generator gets guest errors only', async () => {
    const code = `async function* g() { yield* { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 1, done: false }), return: () => ({ get then() { throw new Error("x") } }) }) } }
      try { const it = g(); await it.next(); await it.return() } catch (e) { return e.constructor.constructor("return typeof require")() } return "done"`;
    expect(['undefined', 'done']).toContain(await value(code));
  });

  it('a patched Promise sees guest functions only', async () => {
    const code = `const seen = []; const then = Promise.prototype.then;
      Promise.prototype.then = new Proxy(then, { apply(t, self, args) { seen.push(args.map((f) => { try { return f?.constructor("return typeof require + typeof process")() } catch { return "x" } }).join()); return Reflect.apply(t, self, args) } });
      await fetch("http://10.0.0.1/").catch(() => 0); return seen.filter((s) => /function|object/.test(s))`;
    expect(await value(code)).toEqual([]);
  });

  it('inspection hooks are never called by the host', async () => {
    const code = `const o = { [Symbol.for("nodejs.util.inspect.custom")](d, options, inspect) { return inspect ? "reached" : "none" }, toJSON() { return "inert" } }; console.log(o); return o`;
    expect(await sandbox.run({ runId: 'escape', code })).toMatchObject({
      ok: true,
      json: '"inert"',
      stdout: '"inert"',
    });
  });
});
