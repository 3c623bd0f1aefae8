import { createSandbox } from '@heddle/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dose } from '../support/dose.ts';
import { levels } from './levels.ts';

/** Collects every function that can be reached from the globals; `functions` is the list. */
const COLLECT = `const seen = new Set(); const functions = [];
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
  collect(globalThis, DEPTH);
  for (const value of [function* () {}, async function* () {}, async () => {}, [][Symbol.iterator](), new Map().entries(), 'x'.matchAll(/x/g), new Intl.Segmenter().segment('x')]) collect(value, 3);
  const { apply, construct } = Reflect;`;

/** Calls each of them with hardly any stack left. */
const EXHAUSTED = `${COLLECT}
  let called = 0;
  for (const target of functions.filter((_, at) => at % PARTS === PART)) {
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

/** Calls each of them with arguments that are not what arguments are. */
const HOSTILE = `${COLLECT}
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

const filled = (code: string, values: Readonly<Record<string, number>>): string =>
  Object.entries(values).reduce((text, [name, value]) => text.replaceAll(name, String(value)), code);

/** Enough for the slowest machine; what takes longer is a fault of the test. */
const LIMITS = {
  cpuMs: 100_000,
  wallMs: 110_000,
  timers: 100_000,
  messages: 1_000_000,
  bridgeChars: 2 ** 28,
};
const PATIENT = { timeout: 120_000 };

describe.each(levels)('every built-in, isolation $name', ({ options }) => {
  it('called at the end of the stack does not end the process', PATIENT, async () => {
    const sandbox = createSandbox({ ...options, maxProcesses: 1 });
    onTestFinished(() => sandbox.close());
    const code = filled(EXHAUSTED, { DEPTH: 4, PARTS: dose(2, 1), PART: 0, SHAPES: dose(1, 4) });
    expect(await sandbox.run({ runId: 'fuzz', code, limits: LIMITS })).toMatchObject({
      ok: true,
      json: 'true',
    });
    expect(sandbox.stats().totals).toEqual({ OK: 1 });
  });

  it('called with hostile arguments ends with its own job at most', PATIENT, async () => {
    const sandbox = createSandbox({ ...options, maxProcesses: 1 });
    onTestFinished(() => sandbox.close());
    for (let round = 0; round < dose(6, 200); round++) {
      const code = filled(HOSTILE, { DEPTH: 4, SEED: 7 + round * 7919, ROUNDS: dose(2_000, 10_000) });
      await sandbox.run({ runId: `fuzz${round}`, code, limits: { ...LIMITS, cpuMs: 1_500, wallMs: 3_000 } });
      expect(await sandbox.run({ runId: 'next', code: 'return 1' })).toMatchObject({ ok: true, json: '1' });
    }
    expect(Object.keys(sandbox.stats().totals)).not.toContain('SANDBOX_CRASHED');
    expect(Object.keys(sandbox.stats().totals)).not.toContain('SANDBOX_PROTOCOL');
  });
});
