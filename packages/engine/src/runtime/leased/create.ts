import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import { fileOutlet, partsOf, reportLoudly } from '../../assemble.ts';
import { systemClock } from '../../clock.ts';
import { HeddleEngine } from '../../engine.ts';
import type { Registry } from '../../executors/registry.ts';
import { Runtime } from '../local/run-registry.ts';
import type { EngineOptions } from '../../options.ts';
import { heldByOther } from '../../store/leases.ts';
import type { LeasedStores } from '../../store/leases.ts';
import type { Engine } from '../../types.ts';
import { within } from '../../within.ts';
import { Elsewhere } from './peer-runs.ts';
import { LeasedRuntime } from './leased-runtime.ts';
import { LeasedTenure } from './leased-ownership.ts';
import { Membership } from './membership.ts';
import { Watch } from './peer-service.ts';

/** How long a process may be silent before others take up its runs. */
export const DEFAULT_LEASE_MS = 10_000;
const SHORTEST_LEASE_MS = 500;

/** The time that processes go by with each other: the machine's, whatever time runs live in. */
export interface LeaseTiming {
  leaseMs?: number | undefined;
  clock?: Clock;
}

/** The time of a lease. Throws OPTIONS_INVALID. */
export function leaseOf(leaseMs: number = DEFAULT_LEASE_MS): number {
  if (Number.isInteger(leaseMs) && leaseMs >= SHORTEST_LEASE_MS) return leaseMs;
  throw new EngineError(
    'OPTIONS_INVALID',
    `postgres.leaseMs is a whole number of milliseconds from ${SHORTEST_LEASE_MS} on, not ${leaseMs}.`,
  );
}

/** An engine on stores that it shares with other processes; it closes them. */
export async function createLeasedEngine(
  stores: LeasedStores,
  registry: Registry,
  options: EngineOptions,
  timing: LeaseTiming = {},
): Promise<Engine> {
  const { takeUp = true, onError = reportLoudly } = options;
  const { clock: leaseClock = systemClock } = timing;
  const leaseMs = leaseOf(timing.leaseMs);
  const { leases, requests } = stores;
  const parts = partsOf(stores, registry, options);
  const { values, clock, definitions, environments, code, tenant } = parts;
  const report = (error: unknown): void => onError(error, undefined);
  let closed = false;

  const membership = new Membership({
    leases,
    clock: leaseClock,
    leaseMs,
    lost: (why) => {
      tenure.drop();
      runtime.lose(heldByOther);
      report(new Error(why));
    },
  });
  const retry = (runId: string): void => void runtime.adopt(runId);
  const tenure = new LeasedTenure({ leases, membership, clock: leaseClock, retry, report: onError });
  const runtime = new Runtime(parts, tenure);
  const local = { stores, values, clock, registry, definitions, environments, runtime, tenant };
  const watch = new Watch({ local, leases, requests, membership, tenure, clock: leaseClock, takeUp, report });
  const elsewhere = new Elsewhere({ runtime: parts, requests, clock: leaseClock, closed: () => closed });

  const close = async (graceMs: number): Promise<void> => {
    await watch.end();
    const grace = within(clock, graceMs);
    await runtime.close(grace.over);
    grace.cancel();
    closed = true;
    tenure.drop();
    // What cannot be given back is free once its time has passed.
    await membership.end().catch(report);
    await code.close();
    await stores.close();
  };
  try {
    await membership.begin();
    await watch.begin();
  } catch (error) {
    await close(0);
    throw error;
  }
  return new HeddleEngine({
    ...local,
    runtime: new LeasedRuntime(local, elsewhere),
    httpClient: fileOutlet(options),
    close,
  });
}
