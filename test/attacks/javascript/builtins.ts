import type { AttackGroup, ExpectedOutcome } from '../attack.ts';

const MEMORY_OUTCOMES = ['OUT_OF_MEMORY', /^USER_ERROR RangeError/] as const;
/** Code that cannot be interrupted ends with its process, soon after its time limit. */
const limits = { cpuMs: 300, wallMs: 60_000, killGraceMs: 200 };

const builtinAttack = (
  id: string,
  title: string,
  code: string,
  ...otherOutcomes: readonly (string | RegExp)[]
) => ({
  id,
  title,
  code,
  limits,
  expected: ['TIMEOUT_CPU', ...MEMORY_OUTCOMES, ...otherOutcomes] as ExpectedOutcome,
});

/** Defines `descend`, which calls functions of the guest runtime with almost no stack left. */
const DESCEND_CODE = `
  // These are created at their first use, which needs stack.
  await fetch('http://10.0.0.1/').catch(() => 0); crypto.subtle; structuredClone([1]);
  const { apply } = Reflect; let left = 300; const calls = [
    () => fetch('http://10.0.0.1/').catch(() => 0), () => setTimeout(() => 0, 1), () => console.log('deep'), () => queueMicrotask(() => 0),
    () => crypto.getRandomValues(new Uint8Array(8)), () => crypto.subtle.digest('SHA-256', new Uint8Array(8)).catch(() => 0), () => clearTimeout(1), () => structuredClone([1]) ];
  const descend = () => { try { descend() } catch {} if (left-- > 0) try { calls[left % calls.length]() } catch {} };`;

/** Built-ins and guest runtime functions with large, deep, slow or endless inputs. */
export const builtinAttacks: AttackGroup = {
  name: 'Built-ins at their limits',
  language: 'javascript',
  attacks: [
    builtinAttack(
      'V01',
      'the longest string, normalized',
      'return "é".repeat(2 ** 28).normalize("NFKD").length',
    ),
    builtinAttack(
      'V02',
      'the longest string, converted to upper case',
      'return "ß".repeat(2 ** 27).toLocaleUpperCase("tr").length',
    ),
    builtinAttack(
      'V03',
      'a BigInt that is parsed from many digits',
      'return typeof BigInt("9".repeat(2 ** 27))',
    ),
    builtinAttack(
      'V04',
      'an object that claims the maximum length, concatenated',
      'return [].concat({ length: 2 ** 32 - 2, [Symbol.isConcatSpreadable]: true }).length',
    ),
    builtinAttack(
      'V05',
      'long strings compared by the rules of a locale',
      'const a = "\\u0e40".repeat(2 ** 26); return new Intl.Collator("th").compare(a, a + "b")',
      '-1',
    ),
    builtinAttack(
      'V06',
      'many digits formatted by the rules of a locale',
      'return (10n ** 9000000n).toLocaleString("de").length',
    ),
    builtinAttack(
      'V07',
      'long strings encoded for URLs',
      'const a = []; for (;;) a.push(encodeURIComponent("é".repeat(2 ** 26)).length)',
    ),
    {
      id: 'V08',
      title: 'Intl objects of every kind, whose memory is outside the heap',
      code: `const k = []; for (let i = 0; i < 3000; i++) k.push(new Intl.Collator('th'), new Intl.Segmenter('ja', { granularity: 'word' }), new Intl.PluralRules('ar'), new Intl.ListFormat('de'), new Intl.RelativeTimeFormat('fr'), new Intl.DisplayNames('zh', { type: 'region' }), new Intl.NumberFormat('hi', { style: 'currency', currency: 'INR' })); return 'held'`,
      limits: { cpuMs: 1_500, wallMs: 60_000, killGraceMs: 200 },
      expected: ['"held"', 'TIMEOUT_CPU', 'SANDBOX_CRASHED', ...MEMORY_OUTCOMES],
    },
    builtinAttack(
      'V09',
      'unlimited stacks of errors that stay referenced',
      'Error.stackTraceLimit = Infinity; const k = []; const f = (n) => { k.push(new Error("x").stack); if (n > 0) f(n - 1) }; for (;;) try { f(3000) } catch (e) { k.push(e.stack) }',
    ),
    builtinAttack(
      'V10',
      'an AggregateError of a hundred thousand errors with a chain of causes',
      'let cause; for (let i = 0; i < 1e5; i++) cause = new Error("x", { cause }); throw new AggregateError(Array(1e5).fill(cause), "m")',
      /^USER_ERROR AggregateError: m$/,
    ),
    {
      id: 'V11',
      title: 'host calls at the end of the stack: each is counted once or not at all',
      code: `${DESCEND_CODE} descend(); await new Promise((r) => setTimeout(r, 20)); return 'done'`,
      limits: { cpuMs: 5_000, wallMs: 20_000, hostCalls: 100 },
      expected: '"done"',
    },
    {
      id: 'V11b',
      title: 'more host calls than are allowed, at the end of the stack',
      code: `${DESCEND_CODE} left = 4000; for (let i = 0; i < 20; i++) descend(); await new Promise((r) => setTimeout(r, 20)); return 'done'`,
      limits: { cpuMs: 5_000, wallMs: 20_000, hostCalls: 10 },
      expected: 'BRIDGE_LIMIT',
    },
    builtinAttack(
      'V12',
      'an endless iterator as headers of a request',
      'await fetch("http://ok.test/", { headers: (function* () { for (;;) yield ["a", "b"] })() })',
    ),
    builtinAttack(
      'V13',
      'an endless iterator of endless iterators',
      'const all = (function* () { for (;;) yield 1 })().flatMap(function* () { for (;;) yield 2 }); return all.filter((n) => n > 2).toArray()',
    ),
    builtinAttack(
      'V14',
      'an array from an endless async generator',
      'return await Array.fromAsync((async function* () { for (;;) yield 1 })())',
    ),
    builtinAttack(
      'V15',
      'symbols with very long names',
      'const k = []; for (let i = 0; ; i++) k.push(Symbol.for("x".repeat(2 ** 24) + i))',
    ),
    builtinAttack(
      'V16',
      'a pattern of a million alternatives',
      'const r = new RegExp(Array.from({ length: 1e6 }, (_, i) => "a".repeat(i % 40) + i).join("|"), "iv"); return r.test("a".repeat(100))',
      'false',
      'true',
      /^USER_ERROR SyntaxError/,
    ),
    builtinAttack(
      'V17',
      'groups of ten million keys',
      'return Object.keys(Object.groupBy({ *[Symbol.iterator]() { for (let i = 0; i < 1e7; i++) yield i } }, (n) => "k" + n)).length',
    ),
    {
      id: 'V18',
      title: 'functions of the guest runtime as handlers of timers and promises',
      code: `setTimeout(fetch, 0, 'http://10.0.0.1/'); setTimeout(console.log, 0, { toJSON() { return 'said' } }); queueMicrotask(console.log);
        await Promise.all([Promise.resolve(1).then(setTimeout).catch((e) => e), Promise.resolve(8).then(structuredClone)]); await new Promise((r) => setTimeout(r, 30)); return 'done'`,
      expected: ['"done"', /^USER_ERROR/],
    },
    {
      id: 'V19',
      title: 'a global object whose prototype has a value for every name',
      code: `try { Object.setPrototypeOf(globalThis, new Proxy({}, { has: () => true, get: (_, key) => key === Symbol.unscopables ? undefined : () => 'forged' })) } catch {}
        for (const name of ['TypeError', 'SyntaxError', 'Proxy', 'Promise', 'JSON', 'String']) delete globalThis[name];
        await null; await fetch('http://10.0.0.1/').catch(() => 0); return { a: 1 }`,
      expected: ['{"a":1}', 'USER_ERROR'],
    },
    {
      id: 'V20',
      title: 'a getter for the constructor of promises, which runs at every await',
      code: `const seen = []; Object.defineProperty(Promise.prototype, 'constructor', { get() { seen.push(typeof this); throw new Error('asked') } });
        Object.defineProperty(Object.prototype, Symbol.toPrimitive, { get() { throw new Error('asked') } }); try { await Promise.resolve(1) } catch {} return { a: 1 }`,
      expected: '{"a":1}',
    },
  ],
};
