import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox, type SandboxOptions } from '../index.ts';

const modes: SandboxOptions['share'][] = ['run', 'tenant', 'isolate'];

describe.each(modes)('sharing by %s', (share) => {
  const sandbox = createSandbox({ maxProcesses: 1, share: share ?? 'run' });
  afterAll(() => sandbox.close());

  async function value(runId: string, code: string): Promise<unknown> {
    const outcome = await sandbox.run({ runId, code });
    return outcome.ok ? JSON.parse(outcome.json) : outcome.error.code;
  }

  const PLANT =
    'globalThis.leak = "secret"; Object.prototype.leak = "secret"; JSON.parse.leak = 1; globalThis[Symbol.for("leak")] = 1; Array.prototype.map = null; fetch.leak = 1; console.leak = 1; return 1';
  const LOOK =
    'return [typeof globalThis.leak, typeof ({}).leak, typeof JSON.parse.leak, typeof globalThis[Symbol.for("leak")], typeof [].map, typeof fetch.leak, typeof console.leak]';
  const NOTHING = ['undefined', 'undefined', 'undefined', 'undefined', 'function', 'undefined', 'undefined'];

  it('nothing passes from one block to the next of its run', async () => {
    await value('one', PLANT);
    expect(await value('one', LOOK)).toEqual(NOTHING);
  });

  it('nothing passes from one run to another', async () => {
    await value('one', PLANT);
    expect(await value('two', LOOK)).toEqual(NOTHING);
  });

  it('timers end with their block', async () => {
    await value('one', 'setTimeout(() => { globalThis.late = 1 }, 10); return 1');
    expect(await value('one', 'await new Promise((r) => setTimeout(r, 30)); return typeof late')).toBe(
      'undefined',
    );
  });

  it('random numbers are fresh in every block', async () => {
    const seen = new Set<unknown>();
    for (let i = 0; i < 5; i++) seen.add(await value('one', 'return Math.random()'));
    for (let i = 0; i < 5; i++) seen.add(await value(`random${i}`, 'return Math.random()'));
    expect(seen.size).toBe(10);
  });
});

describe('a sandbox process', () => {
  it('has no environment, can read no files, and serves one tenant', async () => {
    const sandbox = createSandbox({ maxProcesses: 2 });
    try {
      const jobs = ['a', 'b'].map((tenant) => sandbox.run({ runId: 'r', tenant, code: 'return 1' }));
      expect(await Promise.all(jobs)).toMatchObject([{ ok: true }, { ok: true }]);
      expect(sandbox.stats().processes).toBe(2);
      if (process.platform !== 'linux') return;
      const children = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isOurs(pid));
      expect(children.length).toBe(2);
      for (const pid of children) {
        const names = readFileSync(`/proc/${pid}/environ`, 'latin1')
          .split('\0')
          .filter(Boolean)
          .map((entry) => entry.split('=')[0]);
        expect(names.filter((name) => !name?.startsWith('NODE_CHANNEL_'))).toEqual([]);
        expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')).toEqual(
          expect.arrayContaining(['--permission', '--jitless']),
        );
      }
    } finally {
      await sandbox.close();
    }
  });
});

function isOurs(pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
    return (
      parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('child.cjs')
    );
  } catch {
    return false;
  }
}
