import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { findBubblewrap } from '../../../../test/support/bubblewrap.ts';
import { isReadableByOthers } from '../../../../test/support/other-users.ts';
import { createSandbox, probeIsolation } from '../index.ts';
import { checkNode, type IsolationReport } from './report.ts';
import { findHostTools } from './host-tools.ts';
import { createSeccompFilter } from './seccomp.ts';
import { findSelfTestProblem } from './self-test.ts';
import type { Architecture } from './syscalls.ts';

const ROOT = realpathSync(fileURLToPath(new URL('../../../..', import.meta.url)));
const isLinux = process.platform === 'linux';
const isRoot = process.geteuid?.() === 0;
const bubblewrapPath = isLinux ? findBubblewrap() : undefined;
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-probe-')));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a program that replaces a tool such as bubblewrap. */
function createFakeTool(name: string, body: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Runs the command without confining it. */
const RUN_UNCONFINED = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"';

const missingBubblewrap = { bubblewrap: join(folder, 'nowhere') };

describe('a Node.js that is too old', () => {
  it('is reported with a hint', () => {
    expect(checkNode('24.0.0')).toBeUndefined();
    expect(checkNode('20.20.2')).toEqual({
      name: 'node',
      result: 'failed',
      found: 'Node.js 20.20.2 is too old',
      hint: 'run the host on Node.js 24 or newer',
    });
  });
});

describe.runIf(isLinux && isReadableByOthers)('the probe', () => {
  it.runIf(bubblewrapPath !== undefined)('finds strict isolation, with every check', async () => {
    const report = await probeIsolation({ bubblewrap: bubblewrapPath! });
    expect(report).toMatchObject({ level: 'strict', reasons: {} });
    expect(report.checks.map(({ name, result }) => [name, result])).toEqual([
      ['prlimit', 'ok'],
      ['users', isRoot ? 'ok' : 'off'],
      ['bubblewrap', 'ok'],
      ['seccomp', 'ok'],
      ['self-test strict', 'ok'],
    ]);
  });

  it('reports what is missing, a hint, and what a level does not protect against', async () => {
    const report = await probeIsolation(missingBubblewrap);
    expect(report.level).toBe('standard');
    expect(report.checks.at(-1)).toMatchObject({
      name: 'self-test standard',
      result: 'ok',
      found: expect.stringMatching(
        /refused files, processes and memory; it could have reached the network( and signalled its host)?$/,
      ) as string,
    });
    expect(report.reasons).toEqual({
      strict: [`${missingBubblewrap.bubblewrap} cannot be run: correct isolation.bubblewrap.`],
    });
  });

  it("reports bubblewrap's message, and a hint for namespaces", async () => {
    const message = 'bwrap: No permissions to create new namespace, likely because the kernel forbids it.';
    const refusingBubblewrap = createFakeTool('refusing', `echo "${message}" >&2; exit 1`);
    const report = await probeIsolation({ bubblewrap: refusingBubblewrap });
    expect(report.level).toBe('standard');
    expect(report.reasons.strict).toEqual([expect.stringContaining(message)]);
    expect(report.reasons.strict![0]).toMatch(/: (user namespaces|the container runtime|allow user)/);
  });

  it('rejects a bubblewrap that confines nothing', async () => {
    const report = await probeIsolation({ bubblewrap: createFakeTool('idle', RUN_UNCONFINED) });
    expect(report.level).toBe('standard');
    expect(report.reasons.strict).toEqual([
      expect.stringMatching(/could open a connection, could start another process, could read \/etc\/passwd/),
    ]);
  });

  it('runs once for the same options', async () => {
    expect(await probeIsolation(missingBubblewrap)).toBe(await probeIsolation({ ...missingBubblewrap }));
  });

  it('runs again after an unexpected result, which may be temporary', async () => {
    const failingOptions = { bubblewrap: createFakeTool('failing', 'exit 1') };
    expect((await probeIsolation(failingOptions)).level).toBe('standard');
    expect(await probeIsolation(failingOptions)).not.toBe(await probeIsolation(failingOptions));
  });

  it('reports why a process could not be started', async () => {
    const tools = { ...findHostTools(undefined), prlimit: '/nowhere/prlimit', setpriv: undefined };
    const problem = await findSelfTestProblem(
      { level: 'standard', tools, uids: undefined },
      process.execPath,
    );
    expect(problem).toMatch(/^a process did not start: spawn \/nowhere\/prlimit ENOENT$/);
  });

  it('does not exceed the requested level', async () => {
    expect(await probeIsolation({ level: 'basic' })).toMatchObject({ level: 'basic', reasons: {} });
  });

  it('detects a process without limits', async () => {
    const tools = { ...findHostTools(undefined), prlimit: createFakeTool('no-limits', RUN_UNCONFINED) };
    const problem = await findSelfTestProblem(
      { level: 'standard', tools, uids: undefined },
      process.execPath,
    );
    expect(problem).toBe('a process could allocate 512 MiB of memory although its limit is 256');
  });

  it.runIf(isRoot)(
    'does not use a user id that cannot read Node.js, and names the unreadable folder',
    async () => {
      const closedFolder = join(folder, 'closed');
      mkdirSync(closedFolder, { mode: 0o700 });
      const execPath = join(closedFolder, 'node');
      writeFileSync(execPath, '#!/bin/sh\nexec ' + process.execPath + ' "$@"\n', { mode: 0o755 });
      const report = await probeIsolation({
        ...(bubblewrapPath !== undefined && { bubblewrap: bubblewrapPath }),
        execPath,
      });
      expect(report.level).toBe('standard');
      const usersCheck = report.checks.find(({ name }) => name === 'users');
      expect(usersCheck).toMatchObject({
        result: 'failed',
        hint: expect.stringContaining(`chmod o+rX ${closedFolder},`),
      });
      expect(report.reasons.strict).toEqual([expect.stringContaining(closedFolder)]);
    },
  );
});

describe.runIf(bubblewrapPath !== undefined)('in a container whose profile forbids namespaces', () => {
  it('standard is reached, with the reason for not reaching strict', async () => {
    const script = join(folder, 'host.mjs');
    const index = JSON.stringify(new URL('../index.ts', import.meta.url).href);
    const isolation = JSON.stringify({ bubblewrap: bubblewrapPath });
    writeFileSync(
      script,
      `import { createSandbox, probeIsolation } from ${index};
       const report = await probeIsolation(${isolation});
       const sandbox = createSandbox({ isolation: ${isolation} });
       const { ok } = await sandbox.run({ runId: 'a', code: 'return 1' });
       process.stdout.write(JSON.stringify({ report, ok }), () => process.exit(0));`,
    );
    // A filter of the sandbox simulates the profile: it allows processes and sockets, and refuses namespaces and
    // mounts.
    const filterFile = join(folder, 'profile');
    const options = {
      architecture: process.arch as Architecture,
      mayStartProcesses: true,
      mayOpenSockets: true,
    };
    writeFileSync(filterFile, createSeccompFilter(options));
    const containerArguments =
      '--unshare-user --uid 1000 --gid 1000 --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp';
    // Sources and tests may be below the folder that is empty there.
    const mounts = `--ro-bind ${ROOT} ${ROOT} --ro-bind ${folder} ${folder} --ro-bind ${dirname(bubblewrapPath!)} ${dirname(bubblewrapPath!)}`;
    const shellCommand = `exec 9<${filterFile}; exec ${bubblewrapPath} ${containerArguments} ${mounts} --seccomp 9 ${process.execPath} --conditions=@heddle/source ${script}`;
    const userOptions = isRoot ? { uid: 60_577, gid: 60_577 } : {};
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', shellCommand], userOptions);
    const { report, ok } = JSON.parse(stdout) as { report: IsolationReport; ok: boolean };
    expect([report.level, ok]).toEqual(['standard', true]);
    expect(report.reasons.strict).toEqual([expect.stringMatching(/bwrap: .*(namespace|clone|unshare).*: /i)]);
  });
});

describe.runIf(isReadableByOthers)('a sandbox', () => {
  it.runIf(isLinux)('runs no job below the minimum, and reports why', async () => {
    const sandbox = createSandbox({ isolation: { ...missingBubblewrap, minimum: 'strict' } });
    const outcome = await sandbox.run({ runId: 'a', code: 'return 1' });
    const expressionOutcome = await sandbox.evaluate({
      runId: 'a',
      mode: 'values',
      expressions: [{ code: '1' }],
    });
    const message = `The sandbox reaches the isolation level standard, and strict is the minimum. ${missingBubblewrap.bubblewrap} cannot be run: correct isolation.bubblewrap.`;
    expect(outcome).toMatchObject({ ok: false, error: { code: 'SANDBOX_UNAVAILABLE', message } });
    expect(expressionOutcome).toMatchObject({ ok: false, error: { code: 'SANDBOX_UNAVAILABLE', message } });
    expect(sandbox.stats()).toMatchObject({ processes: 0, isolation: 'standard' });
    await sandbox.close();
  });

  it.runIf(isLinux)('assigns no job to a process started at a level that failed', async () => {
    // The self-test fails immediately; other processes would hang forever.
    const body = 'case "$*" in *self-test*) exit 1;; esac; exec sleep 60';
    const sandbox = createSandbox({
      isolation: { bubblewrap: createFakeTool('hanging', body) },
      maxProcesses: 1,
    });
    expect(await sandbox.run({ runId: 'a', code: 'return 1' })).toMatchObject({ ok: true });
    await expect.poll(() => sandbox.stats()).toMatchObject({ isolation: 'standard', processes: 1 });
    await sandbox.close();
  });

  it.runIf(isLinux)('leaves no unneeded process behind', async () => {
    const body = 'case "$*" in *self-test*) exit 1;; esac; exec sleep 60';
    const isolation = { bubblewrap: createFakeTool('vain', body), minimum: 'strict' } as const;
    const sandbox = createSandbox({ isolation });
    const jobs = ['a', 'b'].map((runId) => sandbox.run({ runId, code: 'return 1' }));
    expect(await Promise.all(jobs)).toMatchObject([
      { ok: false, error: { code: 'SANDBOX_UNAVAILABLE' } },
      { ok: false, error: { code: 'SANDBOX_UNAVAILABLE' } },
    ]);
    await expect.poll(() => sandbox.stats().processes).toBe(0);
    await sandbox.close();
  });

  it.each([
    ...(isLinux ? (['standard'] as const) : []),
    ...(bubblewrapPath === undefined ? [] : (['strict'] as const)),
    'basic' as const,
  ])('runs jobs and reports its level, in %s', async (level) => {
    const isolation = {
      level,
      minimum: level,
      ...(bubblewrapPath !== undefined && { bubblewrap: bubblewrapPath }),
    };
    const sandbox = createSandbox({ isolation, maxProcesses: 1 });
    // More than the number of jobs after which the process measures its memory.
    for (let i = 0; i < 70; i++) {
      expect(await sandbox.run({ runId: 'a', code: `return ${i}` })).toMatchObject({
        ok: true,
        json: String(i),
      });
    }
    expect(sandbox.stats()).toMatchObject({ isolation: level, processes: 1 });
    await sandbox.close();
  });

  it.each([
    [{ level: 'safe' }, /isolation\.level is "safe"; give one of basic, standard, strict, best/],
    [{ minimum: 'best' }, /isolation\.minimum is "best"; give one of basic, standard, strict\./],
    [
      { level: 'standard', minimum: 'strict' },
      /isolation\.level is "standard", which is below isolation\.minimum "strict"/,
    ],
    [{ uids: { from: 0, to: 5 } }, /isolation\.uids is 0 to 5; give two user ids above 0/],
    [{ uids: { from: 70_000, to: 60_000 } }, /isolation\.uids/],
  ])('refuses the isolation %o', (isolation, message) => {
    expect(() => createSandbox({ isolation: isolation as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
    );
  });
});
