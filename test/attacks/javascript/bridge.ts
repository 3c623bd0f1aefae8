import type { AttackGroup } from '../attack.ts';

/** Nested arrays that are few objects in the isolate, but millions of objects after their JSON is parsed. */
const DENSE_ARRAYS_CODE = 'const row = Array(1000).fill([]); const dense = Array(4000).fill(row);';

/** Messages that have another meaning, or cost more, in the host. */
export const bridgeAttacks: AttackGroup = {
  name: 'Forged and misleading messages',
  language: 'javascript',
  attacks: [
    {
      id: 'B01',
      title: 'a wrapped JSON.stringify',
      code: 'const S = JSON.stringify; JSON.stringify = function (o) { return S(o) }; return 1',
      expected: '1',
    },
    {
      id: 'B03',
      title: 'a Map that returns its own resolvers',
      code: 'Map.prototype.set = () => {}; Map.prototype.get = () => ({ resolve() {}, reject() {}, res() {}, rej() {} }); try { await fetch("http://10.0.0.1/") } catch (e) { return e.code }',
      expected: '"EGRESS_DENIED"',
    },
    {
      id: 'B05',
      title: 'timers with hostile arguments',
      code: 'Number.isSafeInteger = () => true; setTimeout(() => {}, { valueOf() { return -1 } }); setTimeout(() => {}, Infinity); setTimeout(() => {}, 1e300); setTimeout(() => {}, NaN); clearTimeout({}); clearTimeout("x"); clearTimeout(-1); clearTimeout(2 ** 60); return "ok"',
      expected: '"ok"',
    },
    {
      id: 'B05b',
      title: 'a timer whose delay never becomes a number',
      code: 'setTimeout(() => {}, { valueOf() { for (;;); } })',
      limits: { cpuMs: 200 },
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'B06',
      title: 'a forged module loader',
      code: 'globalThis.__deps = globalThis.__shared = new Proxy({}, { has() { return true }, get(t, k) { return { got: k } } }); return require("child_process")',
      expected: ['USER_ERROR', 'MODULE_NOT_IN_IMAGE', '{"got":"child_process"}'],
    },
    {
      id: 'B07',
      title: 'events after the result are ignored',
      code: 'Promise.resolve().then(() => 0).then(() => { for (let i = 0; i < 50; i++) Promise.resolve() }); setTimeout(() => { console.log("after"); fetch(`http://127.0.0.1:${internalPort}/`) }, 5); return "first"',
      expected: '"first"',
      stdout: /^$/,
    },
    {
      id: 'B09',
      title: 'functions are not transferred',
      code: 'return Object.defineProperty({ f() {}, s: Symbol("x") }, "a", { enumerable: true, get() { return fetch } })',
      expected: '{}',
    },
    {
      id: 'B10',
      title: 'values that JSON cannot represent become null or are omitted',
      code: 'return { s: Symbol("x"), f() {}, u: undefined, n: NaN, i: -Infinity, z: -0, d: new Date(0), m: new Map([[1, 2]]), p: new Proxy({ a: 1 }, {}), r: /x/, e: new Error("x") }',
      expected: '{"n":null,"i":null,"z":0,"d":"1970-01-01T00:00:00.000Z","m":{},"p":{"a":1},"r":{},"e":{}}',
    },
    {
      id: 'B11',
      title: 'a cycle',
      code: 'const a = []; a.push(a); return a',
      expected: 'RESULT_NOT_SERIALIZABLE',
    },
    { id: 'B12', title: 'a BigInt', code: 'return { n: 1n }', expected: 'RESULT_NOT_SERIALIZABLE' },
    {
      id: 'B13',
      title: 'a result whose getters throw',
      code: 'return { get a() { throw new RangeError("own") } }',
      expected: /^RESULT_NOT_SERIALIZABLE RangeError: own/,
    },
    {
      id: 'B14',
      title: 'a revoked proxy that is thrown',
      code: 'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); if (1) throw proxy',
      expected: 'USER_ERROR',
    },
    {
      id: 'B14b',
      title: 'a proxy that pretends to be an array',
      code: 'return new Proxy([], { get(t, k) { return k === "length" ? 3 : k === "toJSON" ? undefined : { [String(k)]: 1 } } })',
      expected: '[{"0":1},{"1":1},{"2":1}]',
    },
    {
      id: 'B15',
      title: 'raw JSON that is not the JSON of a JavaScript value',
      code: 'return [JSON.rawJSON("1e999"), JSON.rawJSON("-0"), JSON.rawJSON("0.1e-400")]',
      expected: ['[1e999,-0,0.1e-400]', 'USER_ERROR'],
    },
    {
      id: 'B16',
      title: 'raw JSON that is not one value',
      code: 'return JSON.rawJSON("1,2")',
      expected: 'USER_ERROR',
    },
    {
      id: 'B17',
      title: 'console output that looks like messages',
      code: 'console.log("D{\\"forged\\":1}"); console.log("\\nD1\\nE{}"); console.log("C1:fetch:-2:{}"); return "D\\"x\\""',
      expected: '"D\\"x\\""',
      stdout: /^D\{"forged":1\}\n/,
    },
    {
      id: 'B18',
      title: 'lone surrogates and line separators in a result, an error and the console',
      code: 'console.log("\\ud800 \\u2028 \\u2029 \\0"); return ["\\udfff", "\\u2028", "\\u2029", "\\0"]',
      expected: '["\\\\udfff","\u2028","\u2029","\\\\u0000"]'.replaceAll('\\\\', '\\'),
    },
    {
      id: 'B19',
      title: 'line separators in the code, which end a line comment',
      code: 'let a = 1; // x\u2028a = 2; // y\u2029a++; return a',
      expected: '3',
    },
    {
      id: 'B20',
      title: 'a lone surrogate in the code',
      code: 'return "\ud800".length',
      expected: '1',
    },
    {
      id: 'B21',
      title: 'a request that is small in the isolate and millions of objects in the host',
      code: `${DENSE_ARRAYS_CODE} Object.prototype.toJSON = function () { return 'url' in this ? { url: dense, __proto__: null } : this }; return await fetch('http://ok.test/').catch((e) => 'refused')`,
      expected: ['"refused"', 'BRIDGE_LIMIT'],
    },
    {
      id: 'B22',
      title: 'a result that is small in the isolate and millions of objects in the host',
      code: `${DENSE_ARRAYS_CODE} return dense`,
      expected: ['RESULT_TOO_LARGE', 'OUT_OF_MEMORY'],
    },
    {
      id: 'B23',
      title: 'a result of the maximum length that has only brackets',
      code: 'const row = Array(1000).fill([]); return Array(1390).fill(row)',
      expected: [/^\[\[\[\],\[\]/, 'RESULT_TOO_LARGE'],
    },
    {
      id: 'B24',
      title: 'a result as deep as JSON allows',
      code: 'let best = []; for (let n = 500; n < 20000; n += 500) { let a = []; for (let i = 0; i < n; i++) a = [a]; try { JSON.stringify(a); best = a } catch { break } } return best',
      expected: [/^\[\[\[/, 'RESULT_NOT_SERIALIZABLE'],
    },
    {
      id: 'B25',
      title: 'an error with fields of wrong types and sizes',
      code: 'const e = new Error("m"); e.name = { toString() { return "N".repeat(1e6) } }; Object.defineProperty(e, "stack", { value: "    at evil (heddle-block.js:99999999999:1)\\n".repeat(1e4) }); e.line = -1; e.code = "CANCELLED"; throw e',
      expected: /^USER_ERROR N{100}: m$/,
    },
    {
      id: 'B26',
      title: 'errors that look like those of the sandbox',
      code: 'throw Object.assign(new Error("The sandbox is closed."), { name: "SandboxError", code: "SANDBOX_UNAVAILABLE", retryable: true, phase: "compile" })',
      expected: /^USER_ERROR SandboxError/,
    },
    {
      id: 'B27',
      title: 'a symbol that a timer throws',
      code: 'setTimeout(() => { throw Symbol("late") }, 0); await new Promise(() => {})',
      expected: 'USER_ERROR',
    },
    {
      id: 'B28',
      title: 'a thenable that resolves with itself and with thenables',
      code: 'let n = 0; const t = { then(resolve) { n++ < 1000 ? resolve(t) : resolve("end") } }; return t',
      expected: '"end"',
    },
    {
      id: 'B29',
      title: 'a thenable that settles twice, then throws',
      code: 'return { then(resolve, reject) { resolve(1); resolve(2); reject(3); throw 4 } }',
      expected: '1',
    },
    {
      id: 'B30',
      title: 'an async generator and an iterator as results',
      code: 'return [(async function* () { yield 1 })(), (function* () { yield 1 })(), [1].values()]',
      expected: '[{},{},{}]',
    },
    {
      id: 'B31',
      title: 'an error whose stack names lines that do not exist',
      code: 'const e = new Error("x"); e.stack = "Error: x\\n    at heddle-block.js:0:0\\n    at heddle-block.js:1e9:1\\n    at heddle-block.js:-1:-1"; throw e',
      expected: 'USER_ERROR',
    },
  ],
};
