import { describe, expect, it } from 'vitest';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import type { LeaseStore } from '../../store/leases.ts';
import { Membership } from './membership.ts';

const LEASE_MS = 9000;

/** A lease table that uses the test's clock and responds when the test allows it. */
class FakeLeases implements Pick<LeaseStore, 'join' | 'renew' | 'leave'> {
  readonly expiresAtByOwner = new Map<string, number>();
  /** The next calls wait for this promise. */
  response: Promise<void> = Promise.resolve();
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  async join(owner: string, leaseMs: number): Promise<void> {
    await this.response;
    this.expiresAtByOwner.set(owner, this.#clock.now() + leaseMs);
  }

  async renew(owner: string, leaseMs: number): Promise<boolean> {
    await this.response;
    if (!this.expiresAtByOwner.has(owner)) return false;
    this.expiresAtByOwner.set(owner, this.#clock.now() + leaseMs);
    return true;
  }

  async leave(owner: string): Promise<void> {
    await this.response;
    this.expiresAtByOwner.delete(owner);
  }
}

async function beginMembership() {
  const clock = new TestClock();
  const leases = new FakeLeases(clock);
  const lossReasons: string[] = [];
  const membership = new Membership({
    leases: leases as unknown as LeaseStore,
    clock,
    leaseMs: LEASE_MS,
  });
  await membership.begin((reason) => lossReasons.push(reason));
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { clock, leases, lossReasons, membership, advance };
}

const rejectAsUnreachable = (): Promise<never> => Promise.reject(new Error('unreachable'));

describe('Membership', () => {
  it('renews its lease three times before it would expire', async () => {
    const { clock, leases, lossReasons, membership, advance } = await beginMembership();
    const { owner = '' } = membership;
    for (let attempts = 0; attempts < 10; attempts++) {
      await advance(LEASE_MS / 3);
      expect(leases.expiresAtByOwner.get(owner)).toBe(clock.now() + LEASE_MS);
    }
    expect(lossReasons).toEqual([]);
    await membership.end();
    expect(leases.expiresAtByOwner.size).toBe(0);
    expect(clock.pendingTimerCount).toBe(0);
  });

  it('keeps its runs if it misses some heartbeats, and loses them when the lease expires, even while a request is pending', async () => {
    const { leases, lossReasons, membership, advance } = await beginMembership();
    const { owner } = membership;
    leases.response = rejectAsUnreachable();
    leases.response.catch(() => undefined);
    await advance(LEASE_MS / 3);
    await advance(LEASE_MS / 3);
    expect(membership.owner).toBe(owner);
    leases.response = new Promise(() => undefined);
    await advance(LEASE_MS / 3);
    expect(lossReasons).toEqual([expect.stringContaining('could not renew its lease')]);
    expect(membership.owner).toBeUndefined();
  });

  it('joins again under another id once the database is reachable, and removes the former id', async () => {
    const { leases, membership, advance } = await beginMembership();
    const { owner: formerOwner = '' } = membership;
    leases.response = rejectAsUnreachable();
    leases.response.catch(() => undefined);
    for (let thirds = 0; thirds < 4; thirds++) await advance(LEASE_MS / 3);
    expect(leases.expiresAtByOwner.has(formerOwner)).toBe(true);
    leases.response = Promise.resolve();
    await advance(LEASE_MS / 3);
    const { owner: newOwner = '' } = membership;
    expect(newOwner).not.toBe(formerOwner);
    expect([...leases.expiresAtByOwner.keys()]).toEqual([newOwner]);
  });

  it('loses all runs at the next heartbeat after the database has removed it', async () => {
    const { leases, lossReasons, membership, advance } = await beginMembership();
    const { owner: formerOwner } = membership;
    leases.expiresAtByOwner.clear();
    await advance(LEASE_MS / 3);
    expect(lossReasons).toEqual([expect.stringContaining('received no heartbeat')]);
    expect(membership.owner).not.toBe(formerOwner);
    expect([...leases.expiresAtByOwner.keys()]).toEqual([membership.owner]);
  });

  it('reports the loss once, even if many writes were refused', async () => {
    const { leases, lossReasons, membership } = await beginMembership();
    const { owner: formerOwner = '' } = membership;
    leases.expiresAtByOwner.clear();
    const newOwners = await Promise.all([1, 2, 3].map(() => membership.ensureMember(formerOwner)));
    expect(new Set(newOwners)).toEqual(new Set([membership.owner]));
    expect(lossReasons).toHaveLength(1);
    expect(await membership.ensureMember(formerOwner)).toBe(membership.owner);
    expect(lossReasons).toHaveLength(1);
  });

  it('counts the lease from the request: a late response does not extend it', async () => {
    const { leases, lossReasons, membership, advance } = await beginMembership();
    let respond = (): void => undefined;
    leases.response = new Promise((resolve) => (respond = resolve));
    await advance(LEASE_MS / 3);
    await advance(LEASE_MS / 2);
    leases.response = new Promise(() => undefined);
    respond();
    await advance(0);
    expect(lossReasons).toEqual([]);
    // The renewal was requested after a third of the lease. Five sixths have passed, so half a lease is left.
    await advance(LEASE_MS / 2 - 1);
    expect(lossReasons).toEqual([]);
    await advance(1);
    expect(lossReasons).toHaveLength(1);
    expect(membership.owner).toBeUndefined();
  });

  it('detects an expired lease by the clock before the timer fires', async () => {
    const { clock, lossReasons, membership } = await beginMembership();
    membership.checkExpiry();
    expect(lossReasons).toEqual([]);
    clock.now = () => LEASE_MS;
    membership.checkExpiry();
    expect(lossReasons).toHaveLength(1);
  });

  it('owns nothing after its end and does not join again', async () => {
    const { membership } = await beginMembership();
    await membership.end();
    expect(membership.owner).toBeUndefined();
    await expect(membership.ensureMember()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });
});
