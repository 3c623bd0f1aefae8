import { createSandbox } from '@heddle/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sample, pickByScale } from '../support/scale.ts';
import { sampleLevels } from './levels.ts';
import { watchHost } from './watch.ts';

/** Collects in `functions` every function that is reachable from the globals. */
const COLLECT_FUNCTIONS = `const seen = new Set(); const functions = [];
  const collect = (target, depth) => {
    if (target === null || (typeof target !== 'object' && typeof target !== 'function') || seen.has(target)) return;
    seen.add(target);
    if (typeof target === 'function') functions.push(target);
    if (depth === 0) return;
    for (const key of Reflect.ownKeys(target)) {
      const { value, get, set } = Reflect.getOwnPropertyDescriptor(target, key);
      for (const member of [value, get, set]) collect(member, depth - 1);
    }
    collect(Reflect.getPrototypeOf(target), depth - 1);
  };
  collect(globalThis, DEPTH);
  for (const value of [function* () {}, async function* () {}, async () => {}, [][Symbol.iterator](), new Map().entries(), 'x'.matchAll(/x/g), new Intl.Segmenter().segment('x')]) collect(value, 3);
  const { apply, construct } = Reflect;`;

/** Calls each collected function with almost no stack left. */
const CALLS_AT_STACK_END = `${COLLECT_FUNCTIONS}
  let called = 0;
  for (const target of functions.filter((_, index) => index % PARTS === PART)) {
    if (['eval', 'structuredClone', 'fetch'].includes(target.name)) continue;
    for (const [self, args] of [[[], [[], () => 0, 'x']], ['x', [/x/g, 'y']], [new Map(), [{}, {}]], [new Uint8Array(8), [1, 2, 3]]].slice(0, SHAPES)) {
      let left = 3;
      const descend = () => {
        try { descend() } catch {}
        if (left-- < 1) return;
        called++;
        try { apply(target, self, args) } catch {}
        try { new target('x') } catch {}
        try { target.constructor('return 1')() } catch {}
      };
      try { descend() } catch {}
    }
  }
  return called > 50`;

/** Calls ROUNDS random functions of those collected, with unexpected arguments. */
const HOSTILE_CALLS = `${COLLECT_FUNCTIONS}
  let seed = SEED; const random = (n) => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return seed % n };
  const trap = new Proxy(function () {}, { get: (t, k) => k === Symbol.toPrimitive ? () => random(9) - 4 : k === 'length' ? random(99) : trap, has: () => true, ownKeys: () => [], apply: () => random(9), construct: () => ({}) });
  const detached = new ArrayBuffer(8); const view = new Uint8Array(detached); detached.transfer();
  const values = [undefined, null, NaN, -0, -1, 2 ** 31, 2 ** 53, -(2 ** 63), 1n << 99n, '', '\\ud800', '\\0'.repeat(99), Symbol.iterator, trap, view, {}, [], [,1], new Map(), new Date(NaN), /(?<a>.)/dgv, new Error('x'), () => trap,
    { valueOf() { throw 1 } }, { toString: null, valueOf: null }, Object.create(null), { length: 99 }, { then() { return trap } }, new Proxy([], {}), globalThis, Promise.reject(1), { get length() { return random(1e3) } }, (function* () { yield trap })()];
  Promise.allSettled([values.at(-3)]);
  const skip = new Set(['eval', 'setInterval', 'setTimeout', 'setImmediate', 'queueMicrotask', 'fetch', 'getRandomValues', 'repeat', 'padStart', 'padEnd', 'Array', 'fill', 'log', 'info', 'debug', 'warn', 'error']);
  let called = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const target = functions[random(functions.length)];
    if (skip.has(target.name) || /install|collect/.test(target.name)) continue;
    const args = Array.from({ length: random(5) }, () => values[random(values.length)]);
    called++;
    try { apply(target, values[random(values.length)], args) } catch {}
    try { if (random(4) === 0) construct(target, args) } catch {}
  }
  return called > 50`;

/** Python code that recurses in C code of the interpreter, where the recursion limit may not count the depth. */
const DEEP_PYTHON: Readonly<Record<string, string>> = {
  repr: 'repr(deep())',
  'repr of objects': 'class A:\n  def __repr__(self): return repr(self)\nrepr(A())',
  comparison: 'deep() == deep()',
  hash: 'a = ()\nfor i in range(N): a = (a,)\nhash(a)',
  'json, written': 'json.dumps(deep())',
  'json, read': 'json.loads("[" * N)',
  'pickle, written': 'import pickle\npickle.dumps(deep())',
  'pickle, read': 'import pickle\npickle.loads(b"(" * N + b"t" * N + b".")',
  marshal: 'import marshal\nmarshal.dumps(deep())',
  copies: 'import copy\ncopy.deepcopy(deep())',
  'a pattern of groups': 'import re\nre.compile("(" * N + ")" * N)',
  'a pattern of repeats': 'import re\nre.match("(?:" * 5000 + "a" + ")*" * 5000, "a" * 999)',
  'a pattern with a callback': 'import re\ndef f(m): return re.sub("a", f, "a")\nre.sub("a", f, "a")',
  'code in brackets': 'compile("(" * N + ")" * N, "x", "eval")',
  'code with signs': 'eval("-" * N + "1")',
  'code with attributes': 'compile("a" + ".b" * N, "x", "eval")',
  literals: 'import ast\nast.literal_eval("[" * N + "]" * N)',
  attributes: 'class A:\n  def __getattr__(self, n): return getattr(self, n + "x")\nA().a',
  calls: 'import functools\nf = print\nfor i in range(N): f = functools.partial(f)\nf()',
  iterators: 'it = iter([])\nfor i in range(N): it = map(None, it)\nnext(it)',
  generators: 'def g(n): yield from g(n + 1)\nnext(g(0))',
  types: 'isinstance(1, tupled())',
  classes: 'c = object\nfor i in range(5000): c = type("C", (c,), {})\nc()',
  errors: 'e = None\nfor i in range(N):\n  n = ValueError(i); n.__cause__ = e; e = n\nraise e',
  destructors: 'a = deep()\ndel a',
  finalizers: 'class A:\n  def __del__(self): A()\nA()',
  formats: 'class A:\n  def __format__(self, s): return format(self, s)\nformat(A())',
  sorting: 'class A:\n  def __lt__(self, o): return sorted([A(), A()]) and True\nsorted([A(), A()])',
  XML: 'import xml.etree.ElementTree as E\nE.fromstring("<a>" * N + "</a>" * N)',
};

const PYTHON_PRELUDE = `import json, sys
N = DEPTH
def deep():
  a = []
  for i in range(N): a = [a]
  return a
def tupled():
  a = int
  for i in range(N): a = (a,)
  return a
`;

/** Replaces the placeholders of the code, such as DEPTH, with these values. */
const fillIn = (code: string, values: Readonly<Record<string, number>>): string =>
  Object.entries(values).reduce((text, [name, value]) => text.replaceAll(name, String(value)), code);

/** Limits that even the slowest machine does not reach. */
const LIMITS = {
  cpuMs: 100_000,
  wallMs: 110_000,
  timers: 100_000,
  messages: 1_000_000,
  bridgeChars: 2 ** 28,
};
const GENEROUS_TIMEOUT = { timeout: pickByScale(120_000, 1_800_000) };

watchHost();

describe.each(sampleLevels())('every built-in, isolation $name', ({ options }) => {
  it('does not end the process when called at the end of the stack', GENEROUS_TIMEOUT, async () => {
    const sandbox = createSandbox({ ...options, maxProcesses: 1 });
    onTestFinished(() => sandbox.close());
    const code = fillIn(CALLS_AT_STACK_END, {
      DEPTH: 4,
      PARTS: pickByScale(2, 1),
      PART: 0,
      SHAPES: pickByScale(1, 4),
    });
    expect(await sandbox.run({ runId: 'fuzz', code, limits: LIMITS })).toMatchObject({
      ok: true,
      json: 'true',
    });
    expect(sandbox.stats().totals).toEqual({ OK: 1 });
  });

  it('ends at most its own job when called with hostile arguments', GENEROUS_TIMEOUT, async () => {
    const sandbox = createSandbox({ ...options, maxProcesses: 1 });
    onTestFinished(() => sandbox.close());
    for (let round = 0; round < pickByScale(6, 60); round++) {
      const code = fillIn(HOSTILE_CALLS, {
        DEPTH: 4,
        SEED: 7 + round * 7919,
        ROUNDS: pickByScale(2_000, 10_000),
      });
      await sandbox.run({ runId: `fuzz${round}`, code, limits: { ...LIMITS, cpuMs: 1_500, wallMs: 3_000 } });
      expect(await sandbox.run({ runId: 'next', code: 'return 1' })).toMatchObject({ ok: true, json: '1' });
    }
    expect(Object.keys(sandbox.stats().totals)).not.toContain('SANDBOX_CRASHED');
    expect(Object.keys(sandbox.stats().totals)).not.toContain('SANDBOX_PROTOCOL');
  });
});

/**
 * Whether Python's recursion limit is removed. A quick run only tests with the limit, because each recursion needs a
 * new interpreter, which is slow.
 */
const LIMIT_REMOVAL_CASES = [false, true].slice(0, pickByScale(1, 2));
const sampledCases = sample(Object.entries(DEEP_PYTHON), 12, 'recursions of Python');
const PYTHON_LIMITS = { cpuMs: pickByScale(1_500, 8_000), wallMs: pickByScale(20_000, 60_000) };
const FILLED_PRELUDE = fillIn(PYTHON_PRELUDE, { DEPTH: pickByScale(20_000, 200_000) });

describe.each(sampleLevels())('Python at the end of its stack, isolation $name', ({ options }) => {
  it.each(LIMIT_REMOVAL_CASES)(
    'ends at most its own job (recursion limit removed: %s)',
    { timeout: pickByScale(600_000, 1_800_000) },
    async (isLimitRemoved) => {
      const sandbox = createSandbox({ ...options, python: { maxProcesses: 1 } });
      onTestFinished(() => sandbox.close());
      const outcomes: Record<string, string> = {};
      for (const [name, code] of sampledCases) {
        const program = `${FILLED_PRELUDE}${isLimitRemoved ? 'sys.setrecursionlimit(10 ** 9)\n' : ''}${code}`;
        const job = { runId: 'deep', language: 'python' as const, limits: PYTHON_LIMITS };
        const outcome = await sandbox.run({ ...job, code: program });
        outcomes[name] = outcome.ok ? 'OK' : outcome.error.code;
      }
      const nextOutcome = await sandbox.run({ runId: 'next', language: 'python', code: 'return 1' });
      expect(nextOutcome).toMatchObject({ ok: true, json: '1' });
      const allowedOutcomes = new Set(['OK', 'USER_ERROR', 'SYNTAX_ERROR', 'TIMEOUT_CPU', 'OUT_OF_MEMORY']);
      expect(Object.entries(outcomes).filter(([, code]) => !allowedOutcomes.has(code))).toEqual([]);
    },
  );
});
