import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox } from './index.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const stdoutOf = async (code: string, limits = {}): Promise<string> =>
  (await sandbox.run({ runId: 'console', code, limits })).stdout;

describe('console output', () => {
  it('joins arguments with spaces, formats objects as JSON, marks levels by prefix', async () => {
    const code =
      'console.log("a", 1, {b: [2]}, null, undefined); console.info("i"); console.warn("w"); console.error("e"); return 1';
    expect(await stdoutOf(code)).toBe('a 1 {"b":[2]} null undefined\ni\nWARN: w\nERROR: e');
  });

  it('is empty without calls, and one line for one call', async () => {
    expect(await stdoutOf('return 1')).toBe('');
    expect(await stdoutOf('console.log("only")')).toBe('only');
  });

  it('formats errors as name and message, and values without JSON as text', async () => {
    expect(await stdoutOf('const a = {}; a.a = a; console.log(new TypeError("x"), a, () => 1, 10n)')).toBe(
      'TypeError: x [object Object] () => 1 10',
    );
  });

  it('keeps the line of an empty string, and trailing newlines', async () => {
    expect(await stdoutOf('console.log("a"); console.log("")')).toBe('a\n');
    expect(await stdoutOf('console.log("a\\n\\n")')).toBe('a\n\n');
  });

  it('keeps empty lines between others', async () => {
    expect(await stdoutOf('console.log(); console.log("b")')).toBe('\nb');
  });

  it('is truncated at its limit, with a marker, and the code continues', async () => {
    const outcome = await sandbox.run({
      runId: 'console',
      code: 'for (let i = 0; i < 100; i++) console.log("0123456789"); return "end"',
      limits: { stdoutChars: 25 },
    });
    expect(outcome).toMatchObject({
      ok: true,
      json: '"end"',
      stdout: '0123456789\n0123456789\n012\n[stdout truncated]',
    });
  });

  it('is truncated at its maximum number of lines', async () => {
    expect(await stdoutOf('for (let i = 0; i < 9; i++) console.log(i)', { logLines: 2 })).toBe(
      '0\n1\n[stdout truncated]',
    );
  });

  it('of several timers is in the order in which they fire', async () => {
    expect(
      await stdoutOf(
        'setTimeout(() => console.log(2), 2); console.log(1); await new Promise((r) => setTimeout(r, 8)); console.log(3)',
      ),
    ).toBe('1\n2\n3');
  });
});
