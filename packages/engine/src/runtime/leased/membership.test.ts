import { describe, expect, it } from 'vitest';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import type { LeaseStore } from '../../store/leases.ts';
import { Membership } from './membership.ts';

const LEASE_MS = 9000;

/** A lease table that uses the test's clock and responds when the test allows it. */
class FakeLeases implements Pick<LeaseStore, 'join' | 'renew' | 'leave'> {
  readonly expires = new Map<string, number>();
  /** The next calls wait for this promise. */
  responses: Promise<void> = Promise.resolve();
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  async join(owner: string, leaseMs: number): Promise<void> {
    await this.responses;
    this.expires.set(owner, this.#clock.now() + leaseMs);
  }

  async renew(owner: string, leaseMs: number): Promise<boolean> {
    await this.responses;
    if (!this.expires.has(owner)) return false;
    this.expires.set(owner, this.#clock.now() + leaseMs);
    return true;
  }

  async leave(owner: string): Promise<void> {
    await this.responses;
    this.expires.delete(owner);
  }
}

async function joinedMember() {
  const clock = new TestClock();
  const leases = new FakeLeases(clock);
  const losses: string[] = [];
  const membership = new Membership({
    leases: leases as unknown as LeaseStore,
    clock,
    leaseMs: LEASE_MS,
  });
  await membership.begin((reason) => losses.push(reason));
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { clock, leases, losses, membership, advance };
}

const unreachable = (): Promise<never> => Promise.reject(new Error('unreachable'));

describe('Membership', () => {
  it('renews its lease three times before it would expire', async () => {
    const { clock, leases, losses, membership, advance } = await joinedMember();
    const { owner = '' } = membership;
    for (let beats = 0; beats < 10; beats++) {
      await advance(LEASE_MS / 3);
      expect(leases.expires.get(owner)).toBe(clock.now() + LEASE_MS);
    }
    expect(losses).toEqual([]);
    await membership.end();
    expect(leases.expires.size).toBe(0);
    expect(clock.waiting).toBe(0);
  });

  it('keeps its runs if it misses some heartbeats, and loses them when the lease expires, with a request pending or not', async () => {
    const { leases, losses, membership, advance } = await joinedMember();
    const { owner } = membership;
    leases.responses = unreachable();
    leases.responses.catch(() => undefined);
    await advance(LEASE_MS / 3);
    await advance(LEASE_MS / 3);
    expect(membership.owner).toBe(owner);
    leases.responses = new Promise(() => undefined);
    await advance(LEASE_MS / 3);
    expect(losses).toEqual([expect.stringContaining('could not renew its lease')]);
    expect(membership.owner).toBeUndefined();
  });

  it('joins again under another id once the database is reachable, and removes the former id', async () => {
    const { leases, membership, advance } = await joinedMember();
    const { owner: before = '' } = membership;
    leases.responses = unreachable();
    leases.responses.catch(() => undefined);
    for (let thirds = 0; thirds < 4; thirds++) await advance(LEASE_MS / 3);
    expect(leases.expires.has(before)).toBe(true);
    leases.responses = Promise.resolve();
    await advance(LEASE_MS / 3);
    const { owner: after = '' } = membership;
    expect(after).not.toBe(before);
    expect([...leases.expires.keys()]).toEqual([after]);
  });

  it('loses all runs at the next heartbeat after the database has removed it', async () => {
    const { leases, losses, membership, advance } = await joinedMember();
    const { owner: before } = membership;
    leases.expires.clear();
    await advance(LEASE_MS / 3);
    expect(losses).toEqual([expect.stringContaining('received no heartbeat')]);
    expect(membership.owner).not.toBe(before);
    expect([...leases.expires.keys()]).toEqual([membership.owner]);
  });

  it('reports the loss once, even if many writes were refused', async () => {
    const { leases, losses, membership } = await joinedMember();
    const { owner: before = '' } = membership;
    leases.expires.clear();
    const after = await Promise.all([1, 2, 3].map(() => membership.ensureMember(before)));
    expect(new Set(after)).toEqual(new Set([membership.owner]));
    expect(losses).toHaveLength(1);
    expect(await membership.ensureMember(before)).toBe(membership.owner);
    expect(losses).toHaveLength(1);
  });

  it('counts the lease from the request: a late response does not prolong it', async () => {
    const { leases, losses, membership, advance } = await joinedMember();
    let respond = (): void => undefined;
    leases.responses = new Promise((resolve) => (respond = resolve));
    await advance(LEASE_MS / 3);
    await advance(LEASE_MS / 2);
    leases.responses = new Promise(() => undefined);
    respond();
    await advance(0);
    expect(losses).toEqual([]);
    // The renewal was requested after a third of the lease. Five sixths have passed, so half a lease is left.
    await advance(LEASE_MS / 2 - 1);
    expect(losses).toEqual([]);
    await advance(1);
    expect(losses).toHaveLength(1);
    expect(membership.owner).toBeUndefined();
  });

  it('detects an expired lease by the clock before the timer fires', async () => {
    const { clock, losses, membership } = await joinedMember();
    membership.checkExpiry();
    expect(losses).toEqual([]);
    clock.now = () => LEASE_MS;
    membership.checkExpiry();
    expect(losses).toHaveLength(1);
  });

  it('owns nothing after its end and does not join again', async () => {
    const { membership } = await joinedMember();
    await membership.end();
    expect(membership.owner).toBeUndefined();
    await expect(membership.ensureMember()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });
});
