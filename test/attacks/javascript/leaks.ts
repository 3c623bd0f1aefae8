import type { AttackGroup } from '../attack.ts';

/** Code that leaves state in every place that a later job could read. */
const LEAVE_STATE_CODE = `fetch.leak = 1; globalThis.leak = 'secret'; Object.prototype.leak = 'secret'; globalThis.leakFn = () => 1; JSON.parse.leak = 1;
  globalThis[Symbol.for('leak')] = 1; Array.prototype.map = null; console.leak = 1; Error.prepareStackTrace = () => 'leak';
  Symbol.for('leak').constructor.leak = 1; return 1`;

/** State that one job may leave for the next job of its run, tenant or process. */
export const leakAttacks: AttackGroup = {
  name: 'Leaks between jobs',
  language: 'javascript',
  attacks: [
    {
      id: 'X01',
      title: 'globals, prototypes and properties of built-ins',
      earlierCode: LEAVE_STATE_CODE,
      code: `return [globalThis.leak, ({}).leak, typeof globalThis.leakFn, JSON.parse.leak, globalThis[Symbol.for('leak')], typeof [].map, fetch.leak, console.leak, typeof Error.prepareStackTrace, Symbol.leak].map(String)`,
      expected: JSON.stringify([
        'undefined',
        'undefined',
        'undefined',
        'undefined',
        'undefined',
        'function',
        'undefined',
        'undefined',
        'undefined',
        'undefined',
      ]),
    },
    {
      id: 'X02',
      title: 'built-ins that are created at their first use',
      earlierCode:
        'URL.prototype.leak = 1; URL.leak = 1; Buffer.leak = 1; Headers.prototype.get = () => "forged"; crypto.subtle.leak = 1; return 1',
      code: 'return [new URL("http://a.test").leak, URL.leak, Buffer.leak, new Headers({ a: "b" }).get("a"), crypto.subtle.leak].map(String)',
      expected: '["undefined","undefined","undefined","b","undefined"]',
    },
    {
      id: 'X03',
      title: 'timers',
      earlierCode:
        'setTimeout(() => { globalThis.late = 1; Object.prototype.late = 1 }, 10); setInterval(() => { globalThis.late = 1 }, 1); return 1',
      code: 'await new Promise((r) => setTimeout(r, 30)); return typeof late',
      expected: '"undefined"',
    },
    {
      id: 'X04',
      title: 'host calls whose responses arrive after the job',
      earlierCode:
        'fetch(`http://ok.test:${externalPort}/`).then(() => { globalThis.late = 1; console.log("late") }); return 1',
      code: 'await new Promise((r) => setTimeout(r, 50)); return typeof late',
      expected: '"undefined"',
      stdout: /^$/,
    },
    {
      id: 'X05',
      title: 'the symbol registry, which shares only names',
      earlierCode: 'globalThis[Symbol.for("leak")] = "secret"; return 1',
      code: 'return [Symbol.for("leak").description, String(globalThis[Symbol.for("leak")])]',
      expected: '["leak","undefined"]',
    },
    {
      id: 'X06',
      title: 'random numbers, whose seed is the same in every snapshot',
      earlierCode:
        'return [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2)).join(), Math.random()]',
      code: 'return [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2)).join(), Math.random()]',
      requiresDistinctResults: true,
      expected: /^\[0/,
    },
    {
      id: 'X08',
      title: 'finalizers of an ended job',
      earlierCode: `const registry = new FinalizationRegistry(() => { for (;;); }); globalThis.registry = registry;
        for (let i = 0; i < 1e4; i++) registry.register({}, i); return 1`,
      code: `const fill = []; for (let i = 0; i < 2e5; i++) { fill.push({ i }); if (fill.length > 1e4) fill.length = 0 } await new Promise((r) => setTimeout(r, 30)); return 'mine'`,
      expected: '"mine"',
    },
    {
      id: 'X12',
      title: 'microtasks of an ended job',
      earlierCode:
        'queueMicrotask(() => { let n = 0; const go = () => { globalThis.late = ++n; if (n < 1e5) queueMicrotask(go) }; go() }); return 1',
      code: 'await null; return typeof late',
      expected: '"undefined"',
    },
    {
      id: 'X15',
      title: 'weak references to values of another job',
      earlierCode: 'globalThis.held = new WeakRef({ secret: 1 }); return 1',
      code: 'return [typeof held, typeof WeakRef.prototype.leak]',
      expected: '["undefined","undefined"]',
    },
    {
      id: 'X16',
      title: 'the last match of regular expressions',
      earlierCode: '/(s)(e)(c)ret/.exec("a secret b"); return RegExp.$1 + RegExp.lastMatch',
      code: 'return [RegExp.$1, RegExp.lastMatch, RegExp.input, RegExp.leftContext]',
      expected: '["","","",""]',
    },
    {
      id: 'X17',
      title: 'templates and regular expressions that are cached by their text',
      earlierCode:
        'const tag = (strings) => strings; globalThis.f = () => tag`a`; f().raw; const r = /x/g; r.leak = 1; Object.getPrototypeOf(f()).leak = 1; return 1',
      code: 'const tag = (strings) => strings; const f = () => tag`a`; return [f().leak, /x/g.leak].map(String)',
      expected: '["undefined","undefined"]',
    },
    {
      id: 'X18',
      title: 'memory that is not zeroed',
      earlierCode:
        'const b = new Uint8Array(1e6).fill(83); globalThis.keep = b; return Buffer.from(b.buffer).length',
      code: 'const all = [new Uint8Array(1e6), Buffer.alloc(1e6), Buffer.allocUnsafe(1e6), new Uint8Array(new ArrayBuffer(8).transfer(1e6))]; return all.map((b) => b.indexOf(83))',
      expected: '[-1,-1,-1,-1]',
    },
    {
      id: 'X19',
      title: 'the patched clock of an earlier job',
      earlierCode: 'performance.now = () => -1; Date.now = () => 0; Date = null; return 1',
      code: 'return performance.now() >= 0 && Date.now() > 1e12',
      expected: 'true',
    },
  ],
};
