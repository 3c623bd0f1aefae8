import { afterAll, describe, expect, it } from 'vitest';
import { valueIn } from '../../../test/support/outcome.ts';
import { createSandbox, type FunctionJob, type FunctionOutcome } from './index.ts';

const sandbox = createSandbox({ python: { maxProcesses: 1 } });
afterAll(() => sandbox.close());

const run = (code: string, fields: Partial<FunctionJob> = {}): Promise<FunctionOutcome> =>
  sandbox.run({ runId: 'memory', language: 'python', code, ...fields });

const withMemory = (memoryMiB: number): Partial<FunctionJob> => ({ limits: { memoryMiB } });

/** Code that allocates until memory runs out, and returns the amount in MiB. */
const FILL_MEMORY_CODE = `
held = []
try:
  while True: held.append(bytes(1024 * 1024))
except MemoryError:
  pass
return len(held)`;

describe('memoryMiB of Python', () => {
  it("limits the interpreter's growth, for each job", async () => {
    const amounts: number[] = [];
    for (const memoryMiB of [64, 128, 256, 64])
      amounts.push(valueIn(await run(FILL_MEMORY_CODE, withMemory(memoryMiB))) as number);
    expect(amounts).toSatisfy(([small, middle, large, smallAgain]: [number, number, number, number]) => {
      const [firstGrowth, secondGrowth] = [middle - small, large - middle];
      return (
        small > 16 &&
        small <= 64 &&
        firstGrowth > 48 &&
        firstGrowth <= 80 &&
        secondGrowth > 112 &&
        secondGrowth <= 144 &&
        smallAgain === small
      );
    });
  });

  it('leaves an interpreter enough memory to start', async () => {
    expect(await run('return sum(range(10))', withMemory(8))).toMatchObject({ ok: true, json: '45' });
  });

  it('ends the job with OUT_OF_MEMORY at the allocating line', async () => {
    const code = 'held = []\ndef hold():\n  while True:\n    held.append(bytes(1024 * 1024))\n\nhold()';
    expect(await run(code, withMemory(96))).toMatchObject({
      ok: false,
      error: {
        code: 'OUT_OF_MEMORY',
        name: 'MemoryError',
        message: 'The code needs more than its 96 MiB of memory.',
        line: 4,
        retryable: false,
      },
    });
    expect(valueIn(await run('return 1'))).toBe(1);
  });

  it.each([
    ['of many small values', 'held = []\nwhile True: held.append([len(held)] * 8)'],
    [
      'of a value that is awaited',
      'import asyncio\nasync def f():\n  return [bytes(2**20) for _ in range(300)]\nreturn len(await f())',
    ],
    ['of a result', 'text = "x" * (30 * 2**20)\nreturn [text] * 8'],
    [
      "that other code in the interpreter's isolate allocates",
      'import js\njs.eval("new WebAssembly.Memory({ initial: 2048 })")',
    ],
  ])('limits the memory %s', async (_description, code) => {
    const outcome = await run(code, withMemory(64));
    expect(outcome).toMatchObject({ ok: false });
    expect(valueIn(await run('return 1'))).toBe(1);
  });
});
