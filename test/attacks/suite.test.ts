import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isExpected } from './attack.ts';
import { MOST_LAG_MS } from './lag.ts';
import { levels } from './levels.ts';
import { useArena } from './suite.ts';

describe('the invariants of the attack suite', () => {
  const holder = useArena(levels[0]!);

  it('see a connection to the internal server', async () => {
    await holder.arena.reset();
    const socket = connect(holder.arena.network.internalPort, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(await holder.arena.harm('')).toEqual(['1 connections to the internal server']);
    expect(await holder.arena.harm('')).toEqual([]);
  });

  it('see the event loop held up by work, and not by waiting', async () => {
    await holder.arena.reset();
    // Work of this thread, on whatever machine: counted in its processor time, not in time.
    const before = process.threadCpuUsage();
    const spent = (): number => {
      const { user, system } = process.threadCpuUsage(before);
      return user + system;
    };
    while (spent() < 2_000 * MOST_LAG_MS) Math.sqrt(2);
    expect((await holder.arena.harm('')).filter((harm) => harm.includes('event loop'))).toHaveLength(1);
    await holder.arena.reset();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * MOST_LAG_MS);
    expect(await holder.arena.harm('')).toEqual([]);
  });

  it('see a changed prototype, and one that is put right again', async () => {
    await holder.arena.reset();
    (Object.prototype as { polluted?: number }).polluted = 1;
    const harm = await holder.arena.harm('');
    delete (Object.prototype as { polluted?: number }).polluted;
    expect(harm).toEqual([expect.stringContaining('polluted')]);
    const { at } = Array.prototype;
    Array.prototype.at = () => undefined;
    const replaced = await holder.arena.harm('').finally(() => (Array.prototype.at = at));
    expect(replaced).toEqual([expect.stringContaining('at')]);
    expect(await holder.arena.harm('')).toEqual([]);
  });

  it('see a secret of the host', async () => {
    const secret = process.env['HEDDLE_ATTACK_TARGET'];
    expect(await holder.arena.harm({ json: `"${secret}"` })).toEqual(['a secret of the host in the outcome']);
  });

  it('hold outcomes to what is expected, and to nothing near it', () => {
    const outcome = { ok: true, json: '10', stdout: '', cpuMs: 0, wallMs: 0 } as const;
    expect(isExpected(outcome, '1')).toBe(false);
    expect(isExpected(outcome, ['1', '10'])).toBe(true);
    expect(isExpected(outcome, /^1/)).toBe(true);
    const error = { code: 'USER_ERROR', name: 'Error', message: 'x', retryable: false } as const;
    expect(isExpected({ ok: false, error, stdout: '', cpuMs: 0, wallMs: 0 }, 'USER_ERROR')).toBe(true);
    expect(isExpected({ ok: false, error, stdout: '', cpuMs: 0, wallMs: 0 }, 'TIMEOUT_CPU')).toBe(false);
  });
});
