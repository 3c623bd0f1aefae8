import { execFile, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBubblewrap } from '../../../../test/support/bubblewrap.ts';
import { isReadableByOthers } from '../../../../test/support/other-users.ts';
import { confine, type Confinement } from './confine.ts';
import { findHostTools } from './host-tools.ts';
import type { Program } from './program.ts';
import { DEFAULT_UIDS } from './process-uid.ts';
import { spawnConfined } from './spawn.ts';

// These tests cover the layers below Node.js's permission model, so the attackers run without it.

const isRoot = process.geteuid?.() === 0 && isReadableByOthers;
const isLinux = process.platform === 'linux';
const bubblewrapPath = isLinux ? findBubblewrap() : undefined;
const tools = findHostTools(bubblewrapPath);
const uids = isRoot ? DEFAULT_UIDS : undefined;
const strictConfinement: Confinement = { level: 'strict', tools, uids };
const standardConfinement: Confinement = { level: 'standard', tools, uids };

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-breakout-')));
const attackerFile = join(folder, 'attacker.cjs');
const secretFile = join(folder, 'secret');
const server = createServer((socket) => {
  connectionCount++;
  socket.destroy();
});
let connectionCount = 0;
let port = 0;

beforeAll(async () => {
  chmodSync(folder, 0o755);
  writeFileSync(secretFile, 'everyone may read this');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface AttackResult {
  /** The attacker's report, `done` or an error code; undefined if it died. */
  readonly report: unknown;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** Runs an async function with this body, which may use `require`, in a confined process. */
function attack(
  confinement: Confinement,
  body: string,
  overrides: Partial<Program> = {},
): Promise<AttackResult> {
  const source = `(async () => { ${body} })()
    .then((value) => value ?? 'done', (error) => error.code ?? error.name)
    .then((report) => process.send({ report }, () => process.exit(0)));`;
  writeFileSync(attackerFile, source);
  const program: Program = {
    file: attackerFile,
    args: [],
    readablePaths: [],
    flags: ['--jitless'],
    dataMiB: 256,
    ...overrides,
  };
  const child = spawnConfined(confine(confinement, process.execPath, program, false));
  return new Promise((resolve, reject) => {
    let report: unknown;
    let stderr = '';
    child.stderr?.on('data', (data: Buffer) => (stderr += data.toString()));
    child.on('message', (message: { report: unknown }) => (report = message.report));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ report, code, signal, stderr }));
  });
}

const reportOf = async (confinement: Confinement, body: string): Promise<unknown> => {
  const result = await attack(confinement, body);
  return result.report ?? result;
};

const anErrorCode = expect.stringMatching(/^E[A-Z]+$/);
/** Returns code that connects to `target`, the options of `net.connect` as text. */
const connectCode = (target: string): string =>
  `await new Promise((resolve, reject) => require('node:net').connect(${target}).once('connect', resolve).once('error', reject));`;

describe.runIf(bubblewrapPath !== undefined)('a process in strict isolation', () => {
  it.each([
    ['the users of the machine', '/etc/passwd', 'ENOENT'],
    ['its own process', '/proc/self/environ', 'ENOENT'],
    ['the kernel', '/sys/kernel/vmcoreinfo', 'ENOENT'],
    ['devices', '/dev/null', 'ENOENT'],
    ['a world-readable file next to its own', secretFile, 'ENOENT'],
    ['its host', `/proc/${process.pid}/cmdline`, 'ENOENT'],
  ])('cannot read %s', async (_description, target, code) => {
    expect(
      await reportOf(strictConfinement, `require('node:fs').readFileSync(${JSON.stringify(target)});`),
    ).toBe(code);
  });

  it('sees the folders above its own files, and nothing else', async () => {
    const names = await reportOf(
      strictConfinement,
      `const { readdirSync } = require('node:fs');
       return readdirSync(${JSON.stringify(folder)}).concat(readdirSync('/').filter((name) => ['etc', 'proc', 'sys', 'dev', 'root', 'home', 'var'].includes(name)));`,
    );
    expect(names).toEqual(['attacker.cjs']);
  });

  it.each([
    ['beside its program', join(folder, 'written'), 'EROFS'],
    ['over its program', attackerFile, 'EROFS'],
    ['over Node.js', process.execPath, expect.stringMatching(/EROFS|EACCES/)],
    ['at the root', '/written', 'EROFS'],
    ['to shared memory', '/dev/shm/written', 'ENOENT'],
  ])('cannot write %s', async (_where, target, code) => {
    expect(
      await reportOf(strictConfinement, `require('node:fs').writeFileSync(${JSON.stringify(target)}, 'x');`),
    ).toEqual(code);
    expect(existsSync(join(folder, 'written'))).toBe(false);
  });

  it('has no access to networks and sockets of the machine', async () => {
    const connectionCountBefore = connectionCount;
    expect(await reportOf(strictConfinement, connectCode(`{ host: '127.0.0.1', port: ${port} }`))).toEqual(
      anErrorCode,
    );
    expect(await reportOf(strictConfinement, connectCode(`{ path: '/run/dbus/system_bus_socket' }`))).toEqual(
      anErrorCode,
    );
    const DATAGRAM = `const socket = require('node:dgram').createSocket('udp4');
      await new Promise((resolve, reject) => socket.once('error', reject).send('x', ${port}, '127.0.0.1', resolve));`;
    expect(await reportOf(strictConfinement, DATAGRAM)).toEqual(anErrorCode);
    expect(
      await reportOf(
        strictConfinement,
        `await new Promise((resolve, reject) => require('node:net').createServer().listen(0, resolve).once('error', reject));`,
      ),
    ).toEqual(anErrorCode);
    expect(connectionCount).toBe(connectionCountBefore);
  });

  it('can neither start nor signal processes', async () => {
    const SPAWN = `const { error } = require('node:child_process').spawnSync(process.execPath, ['--version']); if (error) throw error;`;
    expect(await reportOf(strictConfinement, SPAWN)).toBe('EPERM');
    expect(await reportOf(strictConfinement, `process.kill(${process.pid}, 0);`)).toBe('ESRCH');
    // Its parent is process 1 of its namespace, bubblewrap, which ignores signals from inside.
    expect(
      await reportOf(strictConfinement, `process.kill(process.ppid, 'SIGKILL'); return process.ppid;`),
    ).toBe(1);
  });

  it('can start threads', async () => {
    const THREAD = `return new Promise((resolve, reject) => new (require('node:worker_threads').Worker)('require("node:worker_threads").parentPort.postMessage("hi")', { eval: true }).once('message', resolve).once('error', reject));`;
    expect(await reportOf(strictConfinement, THREAD)).toBe('hi');
  });

  it('has an empty environment, no host name, and runs as nobody', async () => {
    const READ_IDENTITY = `return [Object.keys(process.env).filter((name) => name !== 'PWD'), require('node:os').hostname(), process.getuid(), process.getgroups().filter((group) => group !== 65534), process.cwd()];`;
    expect(await reportOf(strictConfinement, READ_IDENTITY)).toEqual([[], 'sandbox', 65534, [], '/']);
  });
});

describe.runIf(isLinux && tools.prlimit !== undefined)('a process in standard isolation', () => {
  it('cannot write to any file', async () => {
    const writtenPath = join(tmpdir(), `heddle-written-${process.pid}`);
    try {
      const WRITE = `require('node:fs').writeFileSync(${JSON.stringify(writtenPath)}, 'x');`;
      expect(await reportOf(standardConfinement, WRITE)).toBe('EFBIG');
    } finally {
      rmSync(writtenPath, { force: true });
    }
  });

  it.runIf(isRoot)('runs as a different user than its host and other processes', async () => {
    const [firstUid, secondUid] = await Promise.all([
      reportOf(standardConfinement, 'await new Promise((r) => setTimeout(r, 100)); return process.getuid();'),
      reportOf(standardConfinement, 'await new Promise((r) => setTimeout(r, 100)); return process.getuid();'),
    ]);
    expect(new Set([0, firstUid, secondUid]).size).toBe(3);
    expect(await reportOf(standardConfinement, `process.kill(${process.pid}, 0);`)).toBe('EPERM');
    expect(await reportOf(standardConfinement, `process.setuid(0);`)).toBe('EPERM');
    expect(await reportOf(standardConfinement, `require('node:fs').readFileSync('/etc/shadow');`)).toBe(
      'EACCES',
    );
    expect(
      await reportOf(standardConfinement, `require('node:fs').readFileSync('/proc/${process.pid}/environ');`),
    ).toBe('EACCES');
  });

  it.runIf(isRoot)('cannot start unlimited processes', async () => {
    const FORK_BOMB = `const { spawn } = require('node:child_process');
      const started = [];
      try {
        for (let i = 0; i < 200; i++) {
          const child = spawn('/bin/sleep', ['60'], { stdio: 'ignore' });
          await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
          started.push(child);
        }
      } finally {
        for (const child of started) child.kill('SIGKILL');
      }`;
    expect(await reportOf(standardConfinement, FORK_BOMB)).toBe('EAGAIN');
  });

  it('has an empty environment', async () => {
    expect(await reportOf(standardConfinement, 'return Object.keys(process.env);')).toEqual([]);
  });
});

describe.runIf(isLinux && tools.prlimit !== undefined)('the confinement', () => {
  const confinements: [string, Confinement][] = [
    ['standard', standardConfinement],
    ...(bubblewrapPath === undefined ? [] : ([['strict', strictConfinement]] as [string, Confinement][])),
  ];

  it.each(confinements)('limits memory, in %s', async (_name, confinement) => {
    const ALLOCATE_MEMORY = `const held = []; for (let i = 0; i < 16; i++) held.push(Buffer.allocUnsafeSlow(80 * 2 ** 20).fill(1));`;
    expect(await reportOf(confinement, ALLOCATE_MEMORY)).toBe('ERR_MEMORY_ALLOCATION_FAILED');
    expect(await reportOf(confinement, `new WebAssembly.Memory({ initial: 16384 });`)).not.toBe('done');
  });

  it.each(confinements)('limits CPU time, in %s', async (_name, confinement) => {
    const result = await attack(confinement, 'for (;;);', { maxCpuSeconds: 1 });
    expect(result.report).toBeUndefined();
    // Bubblewrap reports the signal of its process as an exit code.
    expect(result.signal ?? result.code).toBe(result.signal === null ? 128 + 9 : 'SIGKILL');
  });

  it.each(confinements)('limits open files, in %s', async (_name, confinement) => {
    const OPEN = `for (let i = 0; i < 300; i++) require('node:fs').openSync(${JSON.stringify(attackerFile)});`;
    expect(await reportOf(confinement, OPEN)).toBe('EMFILE');
  });

  it.each(confinements)('leaves no core dump, in %s', async (_name, confinement) => {
    const result = await attack(confinement, 'return process.report.getReport().userLimits;');
    expect(result.report).toMatchObject({
      core_file_size_blocks: { soft: 0, hard: 0 },
      file_size_blocks: { soft: 0, hard: 0 },
      open_files: { soft: 256, hard: 256 },
      data_seg_size_bytes: { soft: 256 * 2 ** 20, hard: 256 * 2 ** 20 },
    });
  });

  it.each(confinements)('ends the process with its host, in %s', async (level) => {
    const hostScript = join(folder, 'host.mjs');
    const options = JSON.stringify({
      maxProcesses: 1,
      isolation: { level, ...(bubblewrapPath !== undefined && { bubblewrap: bubblewrapPath }) },
    });
    const indexUrl = new URL('../index.ts', import.meta.url).href;
    // Reports its child processes, then dies during a job.
    writeFileSync(
      hostScript,
      `import { createSandbox } from ${JSON.stringify(indexUrl)};
       import { readdirSync, readFileSync } from 'node:fs';
       const sandbox = createSandbox(${options});
       await sandbox.run({ runId: 'a', code: 'return 1' });
       void sandbox.run({ runId: 'a', code: 'for (;;);', limits: { cpuMs: 600000, wallMs: 600000 } });
       const parents = new Map();
       for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
         try { parents.set(Number(pid), Number(readFileSync('/proc/' + pid + '/stat', 'utf8').split(') ')[1].split(' ')[1])); } catch {}
       }
       const descendants = (pid) => [...parents].filter(([, parent]) => parent === pid).flatMap(([child]) => [child, ...descendants(child)]);
       process.stdout.write(JSON.stringify(descendants(process.pid)), () => process.kill(process.pid, 'SIGKILL'));`,
    );
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, ['--conditions=@heddle/source', hostScript], (_error, stdout) =>
        resolve(stdout),
      );
    });
    const descendants = JSON.parse(output) as number[];
    expect(descendants.length).toBeGreaterThanOrEqual(1);
    await expect
      .poll(() => descendants.filter((pid) => existsSync(`/proc/${pid}`)), { timeout: 10_000 })
      .toEqual([]);
  });

  it.each(confinements)(
    'passes on no inherited descriptor of the host, in %s',
    async (_name, confinement) => {
      const hostScript = join(folder, 'inheriting.mjs');
      writeFileSync(
        attackerFile,
        `try { require('node:fs').writeSync(40, 'leaked'); } finally { process.exit(0); }`,
      );
      const program = { file: attackerFile, args: [], readablePaths: [], flags: ['--jitless'], dataMiB: 256 };
      const moduleUrlLiteral = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
      writeFileSync(
        hostScript,
        `import { confine } from ${moduleUrlLiteral('./confine.ts')};
       import { spawnConfined } from ${moduleUrlLiteral('./spawn.ts')};
       import { fstatSync } from 'node:fs';
       fstatSync(40);
       const invocation = confine(${JSON.stringify(confinement)}, process.execPath, ${JSON.stringify(program)}, false);
       spawnConfined(invocation).once('close', (code) => process.stdout.write('ended with ' + code));`,
      );
      const stdio: StdioOptions = [
        'ignore',
        'pipe',
        'inherit',
        ...Array.from({ length: 37 }, () => 'ignore' as const),
      ];
      const child = spawn(process.execPath, ['--conditions=@heddle/source', hostScript], {
        stdio: [...stdio, 'pipe'],
      });
      const output = { out: '', leak: '' };
      child.stdout!.on('data', (data: Buffer) => (output.out += data.toString()));
      child.stdio[40 as 4]!.on('data', (data: Buffer) => (output.leak += data.toString()));
      await once(child, 'close');
      expect(output).toEqual({ out: 'ended with 0', leak: '' });
    },
  );
});
