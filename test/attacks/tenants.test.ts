import { readFileSync } from 'node:fs';
import { createSandbox } from '@heddle/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleLevels } from './levels.ts';
import { watchNewProcesses } from './processes.ts';
import { watchHost } from './watch.ts';

watchHost();

describe.runIf(process.platform === 'linux').each(sampleLevels())(
  'tenants, isolation $name',
  ({ options }) => {
    it.each([['javascript' as const], ['python' as const]])(
      'never share a process, and %s leaves no state for the next tenant',
      async (language) => {
        const sandbox = createSandbox({ ...options, maxProcesses: 1, python: { maxProcesses: 1 } });
        onTestFinished(() => sandbox.close());
        const leaveStateCode =
          language === 'python'
            ? 'import builtins, js\nbuiltins.leak = 1\njs.globalThis.leak = 1\nopen("/tmp/leak", "w").write("x")\nreturn 1'
            : 'globalThis.leak = Object.prototype.leak = 1; return 1';
        const readStateCode =
          language === 'python'
            ? 'import builtins, js, os\nreturn [hasattr(builtins, "leak"), hasattr(js, "leak"), os.path.exists("/tmp/leak")]'
            : 'return [typeof leak !== "undefined", ({}).leak !== undefined, false]';
        const readNewPids = watchNewProcesses();
        const tenantByPid = new Map<number, string>();
        for (const tenant of ['a', 'b', 'a', 'c']) {
          // The same run id, so that only the tenant separates them.
          const outcome = await sandbox.run({ runId: 'r', tenant, language, code: leaveStateCode });
          expect(outcome).toMatchObject({ ok: true });
          // The process of the previous tenant may still be ending.
          const findPidsOfOtherTenants = () =>
            readNewPids().filter((pid) => (tenantByPid.get(pid) ?? tenant) !== tenant);
          await expect.poll(findPidsOfOtherTenants, { timeout: 10_000 }).toEqual([]);
          for (const pid of readNewPids()) tenantByPid.set(pid, tenant);
          const otherOutcome = await sandbox.run({
            runId: 'r',
            tenant: `${tenant}x`,
            language,
            code: readStateCode,
          });
          expect(otherOutcome).toMatchObject({ ok: true, json: '[false,false,false]' });
          for (const pid of readNewPids()) tenantByPid.set(pid, tenantByPid.get(pid) ?? `${tenant}x`);
        }
        expect(new Set(tenantByPid.values()).size).toBe(6);
      },
    );

    it('each have their own process, with the permission model of Node.js and without an environment', async () => {
      const readNewPids = watchNewProcesses();
      const sandbox = createSandbox({ ...options, maxProcesses: 2 });
      onTestFinished(() => sandbox.close());
      const jobs = ['a', 'b'].map((tenant) => sandbox.run({ runId: 'r', tenant, code: 'return 1' }));
      expect(await Promise.all(jobs)).toMatchObject([{ ok: true }, { ok: true }]);
      const sandboxPids = readNewPids().filter((pid) => readProc(pid, 'cmdline')[0] === process.execPath);
      expect(sandboxPids).toHaveLength(2);
      for (const pid of sandboxPids) {
        const names = readProc(pid, 'environ').map((entry) => entry.split('=')[0]);
        expect(names.filter((name) => !/^(?:NODE_CHANNEL_|PWD$)/.test(name ?? ''))).toEqual([]);
        expect(readProc(pid, 'cmdline')).toEqual(expect.arrayContaining(['--permission', '--jitless']));
      }
    });

    it('get different random numbers in every job and every process', async () => {
      const sandbox = createSandbox({ ...options, maxProcesses: 1 });
      onTestFinished(() => sandbox.close());
      const numbers = new Set<string>();
      for (const tenant of ['a', 'b', 'a', 'b'])
        for (let job = 0; job < 3; job++) {
          const code = 'return [Math.random(), crypto.randomUUID()]';
          const outcome = await sandbox.run({ runId: 'r', tenant, code });
          for (const value of JSON.parse(outcome.ok ? outcome.json : '[]') as unknown[])
            numbers.add(String(value));
        }
      expect(numbers.size).toBe(24);
    });
  },
);

function readProc(pid: number, file: 'cmdline' | 'environ'): string[] {
  return readFileSync(`/proc/${pid}/${file}`, 'latin1').split('\0').filter(Boolean);
}
