import { describe, expect, it } from 'vitest';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import type { LeaseStore } from '../../store/leases.ts';
import { Membership } from './membership.ts';

const LEASE_MS = 9000;

/** A database whose clock is the test's, and which answers when the test says so. */
class Registry implements Pick<LeaseStore, 'join' | 'renew' | 'leave'> {
  readonly expires = new Map<string, number>();
  /** What the next calls wait for. */
  answers: Promise<void> = Promise.resolve();
  private readonly clock: TestClock;

  constructor(clock: TestClock) {
    this.clock = clock;
  }

  async join(owner: string, leaseMs: number): Promise<void> {
    await this.answers;
    this.expires.set(owner, this.clock.now() + leaseMs);
  }

  async renew(owner: string, leaseMs: number): Promise<boolean> {
    await this.answers;
    if (!this.expires.has(owner)) return false;
    this.expires.set(owner, this.clock.now() + leaseMs);
    return true;
  }

  async leave(owner: string): Promise<void> {
    await this.answers;
    this.expires.delete(owner);
  }
}

async function member() {
  const clock = new TestClock();
  const registry = new Registry(clock);
  const losses: string[] = [];
  const membership = new Membership({
    leases: registry as unknown as LeaseStore,
    clock,
    leaseMs: LEASE_MS,
    lost: (why) => losses.push(why),
  });
  await membership.begin();
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { clock, registry, losses, membership, pass };
}

const away = (): Promise<never> => Promise.reject(new Error('away'));

describe('a process among others', () => {
  it('renews its time long before it would be over', async () => {
    const { clock, registry, losses, membership, pass } = await member();
    const { owner = '' } = membership;
    for (let beats = 0; beats < 10; beats++) {
      await pass(LEASE_MS / 3);
      expect(registry.expires.get(owner)).toBe(clock.now() + LEASE_MS);
    }
    expect(losses).toEqual([]);
    await membership.end();
    expect(registry.expires.size).toBe(0);
    expect(clock.waiting).toBe(0);
  });

  it('that misses some beats keeps what it has; at the end of its time it has lost it, whether it is answered or not', async () => {
    const { registry, losses, membership, pass } = await member();
    const { owner } = membership;
    registry.answers = away();
    registry.answers.catch(() => undefined);
    await pass(LEASE_MS / 3);
    await pass(LEASE_MS / 3);
    expect(membership.owner).toBe(owner);
    registry.answers = new Promise(() => undefined);
    await pass(LEASE_MS / 3);
    expect(losses).toEqual([expect.stringContaining('could not tell the database')]);
    expect(membership.owner).toBeUndefined();
  });

  it('is back under another id once the database is, and what was left of the old one is removed', async () => {
    const { registry, membership, pass } = await member();
    const { owner: before = '' } = membership;
    registry.answers = away();
    registry.answers.catch(() => undefined);
    for (let thirds = 0; thirds < 4; thirds++) await pass(LEASE_MS / 3);
    expect(registry.expires.has(before)).toBe(true);
    registry.answers = Promise.resolve();
    await pass(LEASE_MS / 3);
    const { owner: after = '' } = membership;
    expect(after).not.toBe(before);
    expect([...registry.expires.keys()]).toEqual([after]);
  });

  it('that was removed by others has lost everything at its next beat', async () => {
    const { registry, losses, membership, pass } = await member();
    const { owner: before } = membership;
    registry.expires.clear();
    await pass(LEASE_MS / 3);
    expect(losses).toEqual([expect.stringContaining('had not heard of it')]);
    expect(membership.owner).not.toBe(before);
    expect([...registry.expires.keys()]).toEqual([membership.owner]);
  });

  it('that hears of it from a refused write has lost everything once, however many writes were refused', async () => {
    const { registry, losses, membership } = await member();
    const { owner: before = '' } = membership;
    registry.expires.clear();
    const after = await Promise.all([1, 2, 3].map(() => membership.member(before)));
    expect(new Set(after)).toEqual(new Set([membership.owner]));
    expect(losses).toHaveLength(1);
    expect(await membership.member(before)).toBe(membership.owner);
    expect(losses).toHaveLength(1);
  });

  it('counts its time from before it asked: an answer that comes late does not make it longer', async () => {
    const { registry, losses, membership, pass } = await member();
    let answer = (): void => undefined;
    registry.answers = new Promise((resolve) => (answer = resolve));
    await pass(LEASE_MS / 3);
    await pass(LEASE_MS / 2);
    registry.answers = new Promise(() => undefined);
    answer();
    await pass(0);
    expect(losses).toEqual([]);
    // A third and a half are over, and the beat was asked for after a third: the rest is half of the time.
    await pass(LEASE_MS / 2 - 1);
    expect(losses).toEqual([]);
    await pass(1);
    expect(losses).toHaveLength(1);
    expect(membership.owner).toBeUndefined();
  });

  it('that was frozen is told so by a look at the clock, before its timers are', async () => {
    const { clock, losses, membership } = await member();
    membership.look();
    expect(losses).toEqual([]);
    clock.now = () => LEASE_MS;
    membership.look();
    expect(losses).toHaveLength(1);
  });

  it('that has ended holds nothing and never comes back', async () => {
    const { membership } = await member();
    await membership.end();
    expect(membership.owner).toBeUndefined();
    await expect(membership.member()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });
});
