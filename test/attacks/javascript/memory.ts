import type { AttackGroup } from '../attack.ts';

const MEMORY_OUTCOMES = ['OUT_OF_MEMORY', /^USER_ERROR RangeError/] as const;

const memoryAttack = (id: string, title: string, code: string) => ({
  id,
  title,
  code,
  expected: MEMORY_OUTCOMES,
});

/** Code that exceeds its memory limit. */
export const memoryAttacks: AttackGroup = {
  name: 'Memory exhaustion',
  language: 'javascript',
  attacks: [
    memoryAttack('R07', 'arrays', 'const a = []; for (;;) a.push(new Array(1000).fill(Math.random()))'),
    memoryAttack('R07b', 'objects', 'let a = {}; for (let i = 0; ; i++) a = { a, i, s: "x" + i }'),
    memoryAttack('R08', 'a map', 'const m = new Map(); for (let i = 0; ; i++) m.set("key" + i, { i })'),
    memoryAttack('R08b', 'promises', 'const a = []; for (;;) a.push(new Promise(() => {}).then(() => {}))'),
    memoryAttack('R08c', 'closures in microtasks', 'for (let i = 0; ; i++) queueMicrotask(() => i)'),
    memoryAttack(
      'R08d',
      'symbols in the registry',
      'const a = []; for (let i = 0; ; i++) a.push(Symbol.for("s" + i))',
    ),
    memoryAttack(
      'R08e',
      'compiled functions',
      'const a = []; for (let i = 0; ; i++) a.push(new Function("return " + "x + ".repeat(2000) + i))',
    ),
    memoryAttack(
      'R08f',
      'weak references and finalizers',
      'const r = new FinalizationRegistry(() => 0); const a = []; for (;;) { const o = {}; a.push(new WeakRef(o), o); r.register(o, {}) }',
    ),
    {
      id: 'R09',
      title: 'one huge array',
      code: 'return new Array(5e7).fill(1.5).length',
      limits: { cpuMs: 800, wallMs: 4_000, killGraceMs: 200 },
      expected: ['TIMEOUT_CPU', 'TIMEOUT_WALL', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R09b',
      title: 'an array from an object with a length',
      code: 'return Array.from({ length: 1e9 }).length',
      limits: { cpuMs: 800, wallMs: 4_000, killGraceMs: 200 },
      expected: ['TIMEOUT_CPU', 'TIMEOUT_WALL', ...MEMORY_OUTCOMES],
    },
    memoryAttack(
      'R09c',
      'an array that is spread',
      'const a = new Array(1e7).fill(1); const b = []; for (;;) b.push([...a])',
    ),
    memoryAttack('R11', 'typed arrays', 'const k = []; for (;;) k.push(new Uint8Array(1e6).fill(1))'),
    memoryAttack('R11b', 'Node.js buffers', 'const k = []; for (;;) k.push(Buffer.alloc(1e6, 1))'),
    {
      id: 'R11c',
      title: 'copies made by structuredClone',
      code: 'let a = [new Uint8Array(1e6).fill(1)]; for (;;) a = [a, structuredClone(a)]',
      expected: [...MEMORY_OUTCOMES, /^USER_ERROR DataCloneError/],
    },
    {
      id: 'R10',
      title: 'buffers that could grow in place',
      code: 'const b = new ArrayBuffer(8, { maxByteLength: 2 ** 32 }); return [typeof b.resize, b.resizable, new Uint8Array(1).buffer.resizable]',
      expected: '["undefined",false,false]',
    },
    memoryAttack(
      'R10b',
      'buffers whose initial size is their maximum size',
      'return new Uint8Array(new ArrayBuffer(2 ** 30, { maxByteLength: 2 ** 30 })).fill(1).length',
    ),
    memoryAttack(
      'R10c',
      'buffers that are created in every way',
      `const k = []; const options = { maxByteLength: 1e8 };
      class Own extends ArrayBuffer {} const native = new Uint8Array(1).buffer.constructor;
      for (;;) for (const make of [() => new Own(1e8, options), () => new native(1e8, options), () => Reflect.construct(ArrayBuffer, [1e8, options], Own), () => Reflect.construct(native, [1e8, options], Object), () => new native[Symbol.species](1e8, options), () => new (Object.getPrototypeOf(Own))(1e8, options)]) k.push(new Uint8Array(make()).fill(1))`,
    ),
    memoryAttack(
      'R10d',
      'buffers that are transferred to a larger size',
      'return new Uint8Array(new ArrayBuffer(8, { maxByteLength: 2 ** 30 }).transfer(2 ** 30)).fill(1).length',
    ),
    {
      id: 'R10e',
      title: 'shared memory and WebAssembly',
      code: 'return [typeof SharedArrayBuffer, typeof WebAssembly, typeof Atomics, Object.getOwnPropertyNames(ArrayBuffer.prototype).includes("resize")]',
      expected: '["undefined","undefined","undefined",false]',
    },
    memoryAttack('R13', 'strings that double', 'let s = "x"; for (;;) { s += s; s.indexOf("y") }'),
    memoryAttack(
      'R13b',
      'strings that are padded and repeated',
      'const a = []; for (let i = 0; ; i++) a.push("é".repeat(1e6) + i.toString().padStart(1e6, "x"), a.at(-1)?.normalize("NFD"))',
    ),
    memoryAttack(
      'R13c',
      'JSON of a long string',
      'const s = "\\u0001".repeat(2 ** 24); const a = []; for (;;) a.push(JSON.stringify(s))',
    ),
    memoryAttack(
      'R13d',
      'a long string split into characters',
      'const s = "a".repeat(2 ** 24); const a = []; for (;;) a.push(s.split(""))',
    ),
    memoryAttack(
      'R14c',
      'numbers with many digits',
      'const a = []; for (let n = 1n; ; n++) a.push((n << 20000000n) + n)',
    ),
    {
      id: 'R14d',
      title: 'the largest number, multiplied by itself',
      code: 'let a = 2n ** (2n ** 29n); return typeof (a * a)',
      expected: ['"bigint"', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R23',
      title: 'a result of 50 million characters',
      code: 'return "x".repeat(5e7)',
      expected: ['RESULT_TOO_LARGE', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R23b',
      title: 'a result of the longest possible string, which takes little memory',
      code: 'return "x".repeat(2 ** 29 - 100)',
      expected: ['RESULT_TOO_LARGE', 'RESULT_NOT_SERIALIZABLE', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R23c',
      title: 'a line of console output of the longest possible string',
      code: 'console.log("x".repeat(2 ** 29 - 100), { a: "x".repeat(2 ** 25) }); return 1',
      expected: ['1', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R23d',
      title: 'a request of a very long string',
      code: 'return await fetch(`http://ok.test:${externalPort}/` + "x".repeat(2 ** 28), { method: "POST", body: "y".repeat(2 ** 24) }).then(() => "sent", () => "refused")',
      expected: ['"refused"', 'BRIDGE_LIMIT', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R23e',
      title: 'an error of very long strings',
      code: 'throw Object.assign(new Error("m".repeat(2 ** 28)), { name: "n".repeat(2 ** 28), stack: "s".repeat(2 ** 28) })',
      expected: ['USER_ERROR', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R25',
      title: 'deep recursion',
      code: '(function f() { f() })()',
      expected: /^USER_ERROR RangeError/,
    },
    {
      id: 'R25b',
      title: 'deep recursion that creates functions with the constructor of an error',
      code: 'function f() { try { f() } catch (e) { return e.constructor.constructor("return 1")() } } return f()',
      expected: ['1', 'null', 'USER_ERROR'],
    },
    {
      id: 'R25c',
      title: 'deeply nested JSON',
      code: 'let t = ""; for (let i = 0; i < 1e5; i++) t += "["; try { JSON.parse(t) } catch (e) { return e.name }',
      expected: ['"SyntaxError"', '"RangeError"'],
    },
    {
      id: 'R25d',
      title: 'a deeply nested result',
      code: 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a',
      expected: 'RESULT_NOT_SERIALIZABLE',
    },
    {
      id: 'R25e',
      title: 'recursion in toJSON',
      code: 'const o = { toJSON() { return JSON.stringify(o) } }; return o',
      expected: 'RESULT_NOT_SERIALIZABLE',
    },
    {
      id: 'R25f',
      title: 'recursion in a proxy',
      code: 'const p = new Proxy({}, { get(t, k, r) { return r[k] } }); return p.x',
      expected: 'USER_ERROR',
    },
    {
      id: 'R25g',
      title: 'a deep chain of prototypes and proxies',
      code: 'let o = {}; for (let i = 0; i < 1e5; i++) o = new Proxy(o, {}); try { o.x } catch (e) { return e.name } return "done"',
      expected: ['"RangeError"', '"done"'],
    },
    {
      id: 'R25h',
      title: 'a deeply nested pattern',
      code: 'const source = "(".repeat(1e5) + ")".repeat(1e5); try { new RegExp(source).test("") } catch (e) { return e.name } return "done"',
      expected: ['"SyntaxError"', '"RangeError"', '"done"'],
    },
    {
      id: 'R25i',
      title: 'a function that is bound many times',
      code: 'let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(); try { return f() } catch (e) { return e.name }',
      expected: ['1', '"RangeError"'],
    },
    {
      id: 'R29e',
      title: 'deeply nested code in eval',
      code: 'try { eval("[".repeat(5e6)) } catch (e) { return e.name }',
      expected: ['"RangeError"', '"SyntaxError"', '"EvalError"'],
    },
    {
      id: 'R29f',
      title: 'long flat code in eval',
      code: 'const a = []; for (;;) a.push(eval("[" + "{a:1},".repeat(3e5) + "]"))',
      expected: [...MEMORY_OUTCOMES, /^USER_ERROR EvalError/],
    },
    {
      id: 'R29g',
      title: 'a pattern that is large when compiled',
      code: 'const k = []; for (let i = 0; i < 20; i++) { try { const r = new RegExp("(?:" + "[a-z]{1,999}".repeat(50) + i + "){1,99}", "iu"); r.test("aaaa"); k.push(r) } catch (e) { k.push(e.name) } } return k.length',
      expected: ['20', ...MEMORY_OUTCOMES],
    },
    {
      id: 'R31',
      title: 'formatters, whose memory is outside the heap',
      code: 'const k = []; for (let i = 0; i < 15000; i++) k.push(new Intl.DateTimeFormat("en-US", { dateStyle: "full", timeStyle: "long" })); return "held"',
      expected: ['"held"', 'SANDBOX_CRASHED', ...MEMORY_OUTCOMES],
    },
  ],
};
