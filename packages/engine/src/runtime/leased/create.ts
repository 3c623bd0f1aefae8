import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import {
  closeDependencies,
  fileHttpClientLoader,
  createRuntimeDependencies,
  reportAsWarning,
} from '../../assemble.ts';
import { systemClock, startTimer } from '../../clock.ts';
import { HeddleEngine } from '../../engine.ts';
import type { Registry } from '../../executors/registry.ts';
import type { EngineOptions } from '../../options.ts';
import { runHeldByAnother } from '../../store/leases.ts';
import type { LeasedStores } from '../../store/leases.ts';
import type { Engine } from '../../types.ts';
import { RunRegistry } from '../local/run-registry.ts';
import { LeasedRunOwnership } from './leased-ownership.ts';
import { LeasedRuntime } from './leased-runtime.ts';
import { Membership } from './membership.ts';
import { PeerRuns } from './peer-runs.ts';
import { PeerService } from './peer-service.ts';

/** Default time without a heartbeat after which other processes take over the runs of a process. */
export const DEFAULT_LEASE_MS = 10_000;
const MIN_LEASE_MS = 500;

/**
 * The duration of leases, and the clock that measures it. Default: the system clock, even if runs have another clock.
 */
export interface LeaseTiming {
  leaseMs?: number | undefined;
  clock?: Clock;
}

/** Returns the duration of a lease. Throws OPTIONS_INVALID. */
export function validateLeaseMs(leaseMs: number = DEFAULT_LEASE_MS): number {
  if (Number.isInteger(leaseMs) && leaseMs >= MIN_LEASE_MS) return leaseMs;
  throw new EngineError(
    'OPTIONS_INVALID',
    `postgres.leaseMs must be a whole number of milliseconds, at least ${MIN_LEASE_MS}: ${leaseMs} is not allowed.`,
  );
}

/** Returns an engine on stores that it shares with other processes. The engine closes the stores. */
export async function createPostgresEngine(
  stores: LeasedStores,
  registry: Registry,
  options: EngineOptions,
  timing: LeaseTiming = {},
): Promise<Engine> {
  const { recover = true, onError = reportAsWarning } = options;
  const { clock = systemClock } = timing;
  const leaseMs = validateLeaseMs(timing.leaseMs);
  const { leases, requests } = stores;
  const dependencies = createRuntimeDependencies(stores, registry, options);
  const report = (error: unknown): void => onError(error, undefined);

  const membership = new Membership({ leases, clock, leaseMs });
  const ownership = new LeasedRunOwnership({ leases, membership, clock, onError });
  const runs = new RunRegistry(dependencies, ownership);
  const localDependencies = { ...dependencies, runs };
  const service = new PeerService({
    localDependencies,
    leases,
    requests,
    membership,
    ownership,
    clock,
    recover,
    onError: report,
  });
  const peers = new PeerRuns({ runtime: dependencies, requests, clock });

  const close = async (graceMs: number): Promise<void> => {
    await service.stop();
    const graceTimer = startTimer(dependencies.clock, graceMs);
    await runs.close(graceTimer.whenElapsed);
    graceTimer.cancel();
    peers.close();
    ownership.forgetAll();
    // Leases that cannot be released expire.
    await membership.end().catch(report);
    await closeDependencies(dependencies);
    await stores.close();
  };
  try {
    await membership.begin((reason) => {
      ownership.forgetAll();
      runs.stopAll(runHeldByAnother);
      report(new Error(reason));
    });
    await service.start();
  } catch (error) {
    await close(0);
    throw error;
  }
  const runtime = new LeasedRuntime(localDependencies, peers);
  return new HeddleEngine({ ...dependencies, runtime, httpClient: fileHttpClientLoader(options), close });
}
