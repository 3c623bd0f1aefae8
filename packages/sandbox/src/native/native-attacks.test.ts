import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isProcessRunning, setUpNativeImages } from '../../../../test/support/native-images.ts';

const nativeSetup = await setUpNativeImages();
const { python, run, runForValue, runForFailure } = nativeSetup;

/** The argument of `sleep` by which this file finds its own processes, because test files run concurrently. */
const SLEEP_SECONDS = String(700_000_000 + process.pid);

/** A secret that no process may find. */
const SECRET = 'a-value-of-the-host-7319';

afterAll(() => nativeSetup.close());

const OPTIONS = { timeout: 120_000 };

describe.skipIf(python === undefined)('native code that attacks the host', OPTIONS, () => {
  let hostServer: Server;
  let port = 0;
  let requestCount = 0;
  const folder = mkdtempSync(join(tmpdir(), 'heddle-outside-'));
  const file = join(folder, 'readable');

  beforeAll(async () => {
    chmodSync(folder, 0o755);
    writeFileSync(file, 'of the host');
    hostServer = createServer((_request, response) => {
      requestCount++;
      response.end('outside');
    });
    await new Promise<void>((resolve) => hostServer.listen(0, '127.0.0.1', resolve));
    port = (hostServer.address() as AddressInfo).port;
  });

  afterAll(() => {
    hostServer.close();
    rmSync(folder, { recursive: true });
  });

  it.each([
    [
      'writes to the image',
      'touch /usr/bin/evil || touch /etc/evil || touch /opt/heddle/evil || touch /opt/heddle/boot/evil',
    ],
    ['reads a world-readable file of the host', 'cat OUTSIDE'],
    ["reads the host's password hashes", 'cat /etc/shadow'],
    ['lists a folder of the host', 'ls "$(dirname OUTSIDE)"'],
    ['overwrites its interpreter', 'echo x > /usr/local/bin/node'],
    ['writes to devices', 'touch /dev/evil'],
    ['sets the crash handler of the kernel', 'echo "|/tmp/evil" > /proc/sys/kernel/core_pattern'],
    ['renames the machine', 'echo evil > /proc/sys/kernel/hostname'],
    ['sends raw packets', 'python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"'],
    [
      'pings a host',
      "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b'x' * 8, ('8.8.8.8', 0))\"",
    ],
    ['restarts the machine', 'echo b > /proc/sysrq-trigger'],
    ['fills the disk', 'dd if=/dev/zero of=x bs=1M count=300 status=none'],
    ['fills the temporary folder', 'dd if=/dev/zero of=/tmp/x bs=1M count=300 status=none'],
    ['fills the shared memory', 'dd if=/dev/zero of=/dev/shm/x bs=1M count=300 status=none'],
    ['becomes another user', 'python3 -c "import os; os.setuid(0)"'],
    ['connects without the proxy', `curl --noproxy '*' -sS -m 5 http://127.0.0.1:PORT/`],
    ['connects to a public address', 'curl --noproxy "*" -sS -m 5 http://1.1.1.1/'],
    ['resolves a host name', 'python3 -c "import socket; socket.getaddrinfo(\\"example.com\\", 80)"'],
    ['requests the host itself through the proxy', 'curl -sS -m 5 --fail http://127.0.0.1:PORT/'],
    [
      'requests cloud credentials through the proxy',
      'curl -sS -m 5 --fail http://169.254.169.254/latest/meta-data/',
    ],
    ['tunnels to the host itself', 'curl -sS -m 5 --fail -p http://127.0.0.1:PORT/'],
    ['tunnels to a private address', 'curl -sS -m 5 --fail -p http://10.0.0.1/'],
  ])('fails if it %s', async (_description, code) => {
    const { code: errorCode } = await runForFailure({
      code: code.replace('PORT', String(port)).replace('OUTSIDE', file),
      limits: { wallMs: 30_000 },
    });
    expect(errorCode).toBe('USER_ERROR');
    expect(requestCount).toBe(0);
  });

  it.each([
    ['has no setuid files', 'find / -xdev -perm /6000 2>/dev/null | wc -l', 0],
    ['sees only its own processes', "ls -d /proc/[0-9]* | wc -l | awk '{ print ($1 < 12) }'", 1],
    ['cannot read kernel information', 'cat /proc/kallsyms /proc/keys /proc/cmdline 2>/dev/null | wc -c', 0],
    ['sees no devices of the machine', 'ls /sys 2>/dev/null | wc -l', 0],
    ['has no variables of the host’s environment', `env | grep -c -e ${SECRET} -e npm_ -e VITEST || true`, 0],
    [
      'finds no value on a command line',
      'tr "\\0" "\\n" < /proc/1/cmdline | grep -c hidden-value || true',
      0,
    ],
  ])('%s', async (_description, code, expected) => {
    process.env['HEDDLE_TEST_SECRET'] = SECRET;
    expect(
      await runForValue({ code: `echo "__HEDDLE_RESULT__=$(${code})"`, values: { v: '"hidden-value"' } }),
    ).toBe(expected);
  });

  it('ends at most itself if it kills process 1 or all processes', async () => {
    expect(await runForValue({ code: 'kill -9 1; echo "__HEDDLE_RESULT__=alive"' })).toBe('alive');
    const neighbour = runForValue({ code: 'sleep 1; echo "__HEDDLE_RESULT__=neighbour"' });
    expect(await runForFailure({ code: 'kill -9 -1' })).toMatchObject({ code: 'USER_ERROR' });
    expect(await neighbour).toBe('neighbour');
  });

  it('cannot use namespaces, mounts, other processes’ memory, kernel modules or the kernel’s messages', async () => {
    const code = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def errno(call, *args):
    return ctypes.get_errno() if getattr(libc, call)(*args) == -1 else 0
return [errno("unshare", 0x10000000), errno("mount", b"none", b"/tmp", b"tmpfs", 0, None), errno("umount2", b"/proc/sys", 2),
        errno("ptrace", 16, 1, 0, 0), errno("setns", 0, 0), errno("syscall", 175, 0, 0, b""), errno("klogctl", 3, ctypes.create_string_buffer(99), 99)]`;
    expect(await runForValue({ language: 'python', code })).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it.each(['AF_PACKET', 'AF_ALG', 'AF_VSOCK', 'AF_BLUETOOTH'])(
    'cannot open a socket of the family %s',
    async (family) => {
      const code = `import socket\nsocket.socket(getattr(socket, "${family}", 40), socket.SOCK_RAW)`;
      expect(await runForFailure({ language: 'python', code })).toMatchObject({ name: 'PermissionError' });
    },
  );

  it.each([
    ['a loop', 'while :; do :; done', { cpuMs: 400 }, 'TIMEOUT_CPU'],
    [
      'loops in children',
      'for i in 1 2 3; do (while :; do :; done) & done; wait',
      { cpuMs: 400 },
      'TIMEOUT_CPU',
    ],
    ['waiting', `sleep ${SLEEP_SECONDS}`, { wallMs: 1_500 }, 'TIMEOUT_WALL'],
    [
      'a fork bomb',
      `f() { f | f & }; f; sleep ${SLEEP_SECONDS}`,
      { wallMs: 3_000 },
      /TIMEOUT|USER_ERROR|OUT_OF_MEMORY/,
    ],
    ['endless output', 'yes', {}, 'BRIDGE_LIMIT'],
  ])('is ended: %s', async (_description, code, limits, expected) => {
    const outcome = await run({ code, limits });
    expect(outcome).toMatchObject({ ok: false, error: { code: expect.stringMatching(expected) as string } });
    expect(outcome.stdout.length).toBeLessThan(300_000);
    await vi.waitFor(() => expect(isProcessRunning(SLEEP_SECONDS)).toBe(false), { timeout: 30_000 });
  });

  it('ends with OUT_OF_MEMORY if it uses unlimited memory', async () => {
    const code = 'blocks = []\nwhile True:\n    blocks.append(bytearray(64 << 20))';
    const { code: errorCode } = await runForFailure({ language: 'python', code });
    expect(errorCode).toBe('OUT_OF_MEMORY');
  });

  it('ends with all its processes when it is cancelled', async () => {
    const stopController = new AbortController();
    const outcome = run({ code: `sleep ${SLEEP_SECONDS}`, signal: stopController.signal });
    await vi.waitFor(() => expect(isProcessRunning(SLEEP_SECONDS)).toBe(true), { timeout: 30_000 });
    stopController.abort();
    expect(await outcome).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
    await vi.waitFor(() => expect(isProcessRunning(SLEEP_SECONDS)).toBe(false), { timeout: 30_000 });
  });

  it('returns no result that is larger than allowed', async () => {
    const limits = { resultChars: 1_000 };
    const code = 'printf __HEDDLE_RESULT__=; head -c 5000 /dev/zero | tr "\\0" x';
    expect(await runForFailure({ code, limits })).toMatchObject({ code: 'RESULT_TOO_LARGE' });
    expect(await runForFailure({ language: 'python', code: 'return "x" * 5000', limits })).toMatchObject({
      code: 'RESULT_TOO_LARGE',
    });
  });
});
