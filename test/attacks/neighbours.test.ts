import { createSandbox, type FunctionOutcome, type Sandbox } from '@heddle/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleLevels } from './levels.ts';
import { watchHost } from './watch.ts';

const FILL_MEMORY_CODE = 'const a = []; for (;;) a.push(new Array(1000).fill(Math.random()))';
const sleepCode = (result: string): string =>
  `await new Promise((r) => setTimeout(r, 300)); return "${result}"`;

watchHost();

describe.each(sampleLevels())('during an attack, isolation $name', ({ options }) => {
  let sandbox: Sandbox;
  beforeAll(() => {
    sandbox = createSandbox({ ...options, maxProcesses: 1, limits: { cpuMs: 25_000, memoryMiB: 32 } });
  });
  afterAll(() => sandbox.close());

  const run = (runId: string, code: string): Promise<FunctionOutcome> => sandbox.run({ runId, code });

  it('jobs of other runs complete if an isolate runs out of memory', async () => {
    const otherJob = run('other', sleepCode('alive'));
    expect(await run('memory', FILL_MEMORY_CODE)).toMatchObject({
      ok: false,
      error: { code: 'OUT_OF_MEMORY' },
    });
    expect(await otherJob).toMatchObject({ ok: true, json: '"alive"' });
  });

  it('jobs of the same run are retried if their isolate runs out of memory', async () => {
    const otherJob = run('memory', sleepCode('again'));
    expect(await run('memory', FILL_MEMORY_CODE)).toMatchObject({
      ok: false,
      error: { code: 'OUT_OF_MEMORY' },
    });
    expect(await otherJob).toMatchObject({ ok: true, json: '"again"' });
  });

  it('jobs are served while sixteen runs each use their maximum memory', async () => {
    const fillCode =
      'const a = []; for (let i = 0; i < 2500; i++) a.push(new Array(1000).fill(i)); globalThis.kept = a; return 1';
    for (let i = 0; i < 16; i++)
      expect(await run(`full${i}`, fillCode)).toMatchObject({ ok: true, json: '1' });
    expect(await run('small', 'return 2')).toMatchObject({ ok: true, json: '2' });
    expect(Object.keys(sandbox.stats().totals)).not.toContain('SANDBOX_CRASHED');
  });
});
