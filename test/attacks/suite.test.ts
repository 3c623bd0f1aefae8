import { execFile, execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isExpected } from './attack.ts';
import { MAX_LAG_MS } from './lag.ts';
import { levels } from './levels.ts';
import { useHarness } from './suite.ts';

/** Keeps this thread busy for an amount of CPU time. */
function consumeCpu(ms: number): void {
  const start = process.threadCpuUsage();
  for (let spentUs = 0; spentUs < ms * 1e3;) {
    const { user, system } = process.threadCpuUsage(start);
    spentUs = user + system;
  }
}

describe('the checks of the invariants of the attack suite', () => {
  const harnessRef = useHarness(levels[0]!);

  it('detect a connection to the internal server, even between two attacks', async () => {
    const socket = connect(harnessRef.harness.network.internalPort, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
    await new Promise((resolve) => socket.once('close', resolve));
    await harnessRef.harness.reset();
    expect(await harnessRef.harness.findViolations('')).toEqual(['1 connections to the internal server']);
    expect(await harnessRef.harness.findViolations('')).toEqual([]);
  });

  it.each([
    ['work', () => consumeCpu(2 * MAX_LAG_MS)],
    ['waiting', () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * MAX_LAG_MS)],
    ['waiting for a program', () => void execFileSync('sleep', [String((2 * MAX_LAG_MS) / 1e3)])],
  ])('detect that the event loop is blocked by %s', async (_title, blockEventLoop) => {
    await harnessRef.harness.reset();
    blockEventLoop();
    const violations = await harnessRef.harness.findViolations('');
    expect(violations.filter((text) => text.includes('event loop'))).toHaveLength(1);
    expect(await harnessRef.harness.findViolations('')).toEqual([]);
  });

  it('ignore that the operating system pauses the whole process', async () => {
    await harnessRef.harness.reset();
    const pauseCommand = `kill -STOP ${process.pid}; sleep ${(2 * MAX_LAG_MS) / 1e3}; kill -CONT ${process.pid}`;
    await promisify(execFile)('sh', ['-c', pauseCommand]);
    expect(await harnessRef.harness.findViolations('')).toEqual([]);
  });

  it('detect a changed prototype until it is restored', async () => {
    await harnessRef.harness.reset();
    (Object.prototype as { polluted?: number }).polluted = 1;
    const pollutionViolations = await harnessRef.harness.findViolations('');
    delete (Object.prototype as { polluted?: number }).polluted;
    expect(pollutionViolations).toEqual([expect.stringContaining('polluted')]);
    const { at } = Array.prototype;
    Array.prototype.at = () => undefined;
    const replacementViolations = await harnessRef.harness
      .findViolations('')
      .finally(() => (Array.prototype.at = at));
    expect(replacementViolations).toEqual([expect.stringContaining('at')]);
    expect(await harnessRef.harness.findViolations('')).toEqual([]);
  });

  it('detect a secret of the host', async () => {
    const secret = process.env['HEDDLE_ATTACK_TARGET'];
    expect(await harnessRef.harness.findViolations({ json: `"${secret}"` })).toEqual([
      'a secret of the host in the outcome',
    ]);
  });

  it('compare outcomes exactly with the expected outcomes', () => {
    const outcome = { ok: true, json: '10', stdout: '', cpuMs: 0, wallMs: 0 } as const;
    expect(isExpected(outcome, '1')).toBe(false);
    expect(isExpected(outcome, ['1', '10'])).toBe(true);
    expect(isExpected(outcome, /^1/)).toBe(true);
    const error = { code: 'USER_ERROR', name: 'Error', message: 'x', retryable: false } as const;
    expect(isExpected({ ok: false, error, stdout: '', cpuMs: 0, wallMs: 0 }, 'USER_ERROR')).toBe(true);
    expect(isExpected({ ok: false, error, stdout: '', cpuMs: 0, wallMs: 0 }, 'TIMEOUT_CPU')).toBe(false);
  });
});
