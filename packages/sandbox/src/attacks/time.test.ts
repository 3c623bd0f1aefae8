import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox, type FunctionOutcome, type Limits } from '../index.ts';

const sandbox = createSandbox({ maxProcesses: 1, limits: { cpuMs: 150, wallMs: 400, killGraceMs: 300 } });
afterAll(() => sandbox.close());

async function code(text: string, limits: Partial<Limits> = {}): Promise<string> {
  const outcome: FunctionOutcome = await sandbox.run({ runId: 'time', code: text, limits });
  return outcome.ok ? outcome.json : outcome.error.code;
}

/** The sandbox serves the next job as if nothing had been. */
const works = async (): Promise<void> =>
  expect(await code('return 1', { cpuMs: 25_000, wallMs: 25_000 })).toBe('1');

describe('attacks on time', () => {
  it.each([
    ['a loop', 'for (;;);'],
    ['a loop that catches', 'for (;;) { try { for (;;); } catch {} finally { continue } }'],
    ['a loop of microtasks', '(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})'],
    ['a catastrophic regular expression', 'return /^(a+)+$/.test("a".repeat(60) + "b")'],
    [
      'a thrown value whose message never comes',
      'throw { get message() { for (;;); }, get stack() { for (;;); }, toString() { for (;;); } }',
    ],
    [
      'an error whose message never comes',
      'throw Object.defineProperty(new Error(), "message", { get() { for (;;); } })',
    ],
    [
      'a thrown proxy that never answers',
      'throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } })',
    ],
    ['a result whose toJSON never returns', 'return { toJSON() { for (;;); } }'],
    [
      'a proxy result that never answers',
      'return new Proxy({}, { ownKeys() { for (;;); }, get() { for (;;); } })',
    ],
    ['an argument of console that never answers', 'console.log({ toJSON() { for (;;); } })'],
    ['a getter for prepareStackTrace', 'Error.prepareStackTrace = () => { for (;;); }; throw new Error("x")'],
    ['a sort callback', '[3, 2, 1].sort(() => { for (;;); })'],
    ['a loop in a timer', 'setTimeout(() => { for (;;); }, 1); await new Promise(() => {})'],
    [
      'many short entries',
      'const go = () => { const end = Date.now() + 20; while (Date.now() < end); setTimeout(go, 0) }; go(); await new Promise(() => {})',
    ],
  ])('%s ends with TIMEOUT_CPU', async (_what, text) => {
    expect(await code(text)).toBe('TIMEOUT_CPU');
    await works();
  });

  it('waiting for ever ends with TIMEOUT_WALL', async () => {
    expect(await code('await new Promise(() => {})')).toBe('TIMEOUT_WALL');
    expect(await code('const again = () => setTimeout(again, 5); again(); await new Promise(() => {})')).toBe(
      'TIMEOUT_WALL',
    );
    await works();
  });

  it('a result that is thenable for ever ends with TIMEOUT_WALL', async () => {
    expect(await code('return { then() {} }')).toBe('TIMEOUT_WALL');
    await works();
  });

  it('arithmetic that cannot be interrupted ends with its process', async () => {
    expect(await code('let a = 2n ** 100000000n; for (;;) a = a * a')).toBe('TIMEOUT_WALL');
    await works();
  });

  it('code that runs on after its result does not delay others for long', async () => {
    expect(
      await code('setTimeout(() => { for (;;); }, 0); return "first"', { cpuMs: 25_000, wallMs: 25_000 }),
    ).toBe('"first"');
    await works();
  });

  it('the host keeps serving while guests loop', async () => {
    let turns = 0;
    const ticker = setInterval(() => turns++, 5);
    await code('for (;;);');
    clearInterval(ticker);
    expect(turns).toBeGreaterThan(5);
  });
});
