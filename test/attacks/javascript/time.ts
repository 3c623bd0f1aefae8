import type { AttackGroup } from '../attack.ts';

/** A short limit on CPU time and a long limit on wall time, so that a busy machine does not change the outcome. */
const SHORT_CPU_LIMITS = { cpuMs: 150, wallMs: 20_000 };
const SHORT_WALL_LIMITS = { cpuMs: 20_000, wallMs: 250 };

const endlessAttack = (id: string, title: string, code: string) => ({
  id,
  title,
  code,
  limits: SHORT_CPU_LIMITS,
  expected: 'TIMEOUT_CPU',
});
const waitingAttack = (id: string, title: string, code: string) => ({
  id,
  title,
  code,
  limits: SHORT_WALL_LIMITS,
  expected: 'TIMEOUT_WALL',
});

/** Code that never ends, or ends late. */
export const timeAttacks: AttackGroup = {
  name: 'Exhaustion of time',
  language: 'javascript',
  attacks: [
    endlessAttack('R01', 'a loop', 'for (;;);'),
    endlessAttack(
      'R02',
      'a loop that catches errors and continues',
      'for (;;) { try { for (;;); } catch {} finally { continue } }',
    ),
    endlessAttack(
      'R03',
      'endless microtasks',
      '(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})',
    ),
    endlessAttack('R03b', 'endless awaits', 'for (;;) await null'),
    endlessAttack(
      'R04',
      'endless calls of queueMicrotask',
      '(function f() { queueMicrotask(f); queueMicrotask(() => 0) })(); await new Promise(() => {})',
    ),
    waitingAttack('R05', 'a promise that never settles', 'await new Promise(() => {})'),
    waitingAttack('R05b', 'a thenable that never settles', 'return { then() {} }'),
    waitingAttack(
      'R05c',
      'an async generator that never ends, read slowly',
      'async function* g() { for (;;) { await new Promise((r) => setTimeout(r, 5)); yield 1 } } for await (const x of g());',
    ),
    endlessAttack(
      'R06',
      'a regular expression that backtracks',
      'return /^(a+)+$/.test("a".repeat(60) + "b")',
    ),
    endlessAttack(
      'R06b',
      'a regular expression with back references',
      'return /^(.*)(.*)(.*)(.*)(.*)\\1\\2\\3\\4\\5$/s.test("ab".repeat(400))',
    ),
    endlessAttack(
      'R06c',
      'a regular expression in replace with the unicodeSets flag',
      'return "x".repeat(40).replace(/(?:[\\p{L}--[a-w]]|x|\\w)+$(?<!x)/v, "")',
    ),
    endlessAttack(
      'R06d',
      'a regular expression with a lookbehind',
      'return /(?<=y(x+x+)+)z/.test("x".repeat(60) + "z")',
    ),
    endlessAttack(
      'R15',
      'a thrown value whose message getter never returns',
      'throw { get message() { for (;;); }, get stack() { for (;;); }, toString() { for (;;); } }',
    ),
    endlessAttack(
      'R15b',
      'an error whose message getter never returns',
      'throw Object.defineProperty(new Error(), "message", { get() { for (;;); } })',
    ),
    endlessAttack(
      'R15c',
      'an error whose name has a toString that loops',
      'throw Object.assign(new Error(), { name: { toString() { for (;;); } } })',
    ),
    endlessAttack(
      'R16',
      'a thrown proxy whose traps never return',
      'throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } })',
    ),
    endlessAttack('R17', 'a result whose toJSON never returns', 'return { toJSON() { for (;;); } }'),
    endlessAttack(
      'R18',
      'a result that is a proxy whose traps never return',
      'return new Proxy({}, { ownKeys() { for (;;); }, get() { for (;;); } })',
    ),
    endlessAttack('R18b', 'a then getter that never returns', 'return { get then() { for (;;); } }'),
    endlessAttack(
      'R18c',
      'a result whose JSON takes too long',
      'let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; return a',
    ),
    endlessAttack(
      'R20',
      'a console argument whose toJSON never returns',
      'console.log({ toJSON() { for (;;); } })',
    ),
    endlessAttack(
      'R24',
      'prepareStackTrace that never returns',
      'Error.prepareStackTrace = () => { for (;;); }; throw new Error("x")',
    ),
    endlessAttack(
      'R24b',
      'a hasInstance that never returns',
      'Object.defineProperty(Error, Symbol.hasInstance, { value() { for (;;); } }); throw new Error("x")',
    ),
    endlessAttack('R24c', 'a callback of a built-in', '[3, 2, 1].sort(() => { for (;;); })'),
    {
      id: 'R24d',
      title: 'a built-in that never ends',
      code: 'Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)',
      limits: { cpuMs: 150, wallMs: 60_000, killGraceMs: 100 },
      expected: 'TIMEOUT_CPU',
    },
    endlessAttack('R24e', 'a reviver', 'JSON.parse("[1,2]", () => { for (;;); })'),
    endlessAttack('R24f', 'a replace callback', '"aaa".replace(/a/g, () => { for (;;); })'),
    {
      id: 'R24g',
      title: 'a built-in that runs over a sparse array',
      code: 'const a = []; a[4294967294] = 1; a.reverse(); a.toSorted()',
      limits: { cpuMs: 150, wallMs: 60_000, killGraceMs: 100 },
      expected: 'TIMEOUT_CPU',
    },
    waitingAttack(
      'R26',
      'an interval that is never cleared',
      'setInterval(() => {}, 5); await new Promise(() => {})',
    ),
    waitingAttack(
      'R26b',
      'timers that set each other',
      'const again = () => setTimeout(again, 5); again(); await new Promise(() => {})',
    ),
    endlessAttack(
      'R28',
      'a loop in a timer',
      'setTimeout(() => { for (;;); }, 1); await new Promise(() => {})',
    ),
    endlessAttack(
      'R28b',
      'many short timer callbacks',
      'const go = () => { const end = Date.now() + 20; while (Date.now() < end); setTimeout(go, 0) }; go(); await new Promise(() => {})',
    ),
    endlessAttack(
      'R28c',
      'a loop after a host call',
      'await fetch(`http://ok.test:${externalPort}/`); for (;;);',
    ),
    endlessAttack('R28d', 'a loop in a getter of a request', 'await fetch({ toString() { for (;;); } })'),
    {
      id: 'R28e',
      title: 'endless digests',
      code: 'for (;;) try { await crypto.subtle.digest("SHA-512", new Uint8Array(1e5)) } catch {}',
      limits: SHORT_CPU_LIMITS,
      expected: ['TIMEOUT_CPU', 'BRIDGE_LIMIT'],
    },
    waitingAttack(
      'R28f',
      'a host call that is never answered',
      'await fetch(`http://ok.test:${externalPort}/silent`)',
    ),
    {
      id: 'R14',
      title: 'arithmetic that cannot be interrupted ends with its process',
      code: 'let a = 2n ** 100000000n; for (;;) a = a * a',
      limits: { cpuMs: 150, wallMs: 60_000, killGraceMs: 100 },
      expected: ['TIMEOUT_CPU', 'OUT_OF_MEMORY', 'USER_ERROR'],
    },
    {
      id: 'R14b',
      title: 'a number with many digits, converted to a string',
      code: 'return String(7n ** 3000000n).length',
      limits: { cpuMs: 300, wallMs: 600, killGraceMs: 300 },
      expected: ['2535294', 'TIMEOUT_CPU', 'TIMEOUT_WALL'],
    },
    {
      id: 'R27',
      title: 'finalizers that loop',
      code: 'const registry = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 1e5; i++) registry.register({}, 1); await new Promise((r) => setTimeout(r, 50)); return 1',
      limits: { cpuMs: 1_000, wallMs: 20_000 },
      expected: ['1', 'TIMEOUT_CPU'],
    },
    {
      id: 'R27b',
      title: 'code that continues after its result',
      code: 'setTimeout(() => { for (;;); }, 0); return "first"',
      expected: '"first"',
    },
    {
      id: 'R27c',
      title: 'endless microtasks after the result',
      code: 'Promise.resolve().then(() => 0).then(() => 0).then(() => 0).then(() => 0).then(function f() { Promise.resolve().then(f) }); return "first"',
      limits: SHORT_CPU_LIMITS,
      expected: ['"first"', 'TIMEOUT_CPU'],
    },
    {
      id: 'R29',
      title: 'code that takes the compiler a long time',
      code: `${'('.repeat(20_000)}1${')'.repeat(20_000)}`,
      expected: ['SYNTAX_ERROR', 'null', /^USER_ERROR RangeError/],
    },
    {
      id: 'R29b',
      title: 'code with a syntax error at its end, nested as deeply as its size allows',
      code: `${'a=>{'.repeat(40_000)}`,
      expected: ['SYNTAX_ERROR', /^USER_ERROR RangeError/],
    },
    {
      id: 'R29c',
      title:
        'code that closes its wrapper, so that the second compilation, for the line of the error, gets other code',
      code: `}); ${'[[1,2,...[3]].map((x)=>x)];'.repeat(8_000)} (async () => {`,
      expected: 'SYNTAX_ERROR',
    },
    {
      id: 'R29d',
      title: 'nested templates and default parameters',
      code: `${'((a = `${'.repeat(8_000)}`,
      expected: ['SYNTAX_ERROR', /^USER_ERROR RangeError/],
    },
  ],
};
