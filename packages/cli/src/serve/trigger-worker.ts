import type { Authenticator } from '@heddle/api';
import { openSession } from '../engine-session.ts';
import type { SessionOptions } from '../engine-session.ts';
import type { Io } from '../io.ts';
import { openLimits } from './limits.ts';
import { openStore } from './service-store.ts';
import type { TenantPorts } from './service-store.ts';

export type TriggerWorkerOptions = Omit<SessionOptions, 'recover' | 'tenantPorts'> & {
  tenantPorts: TenantPorts;
  /** A limits file. */
  limits?: string;
  onError: (error: unknown) => void;
};

/** Starts the runs of schedules, feeds and workspace events. */
export interface TriggerWorker {
  /** Stops starting runs for triggers. Another process continues. */
  close(): Promise<void>;
}

/** Rejects every caller: the API gets no requests. */
const rejectingAuthenticator: Authenticator = { authenticate: () => Promise.resolve(undefined) };

/**
 * Starts the runs of triggers from this process, which serves no requests. The options decide where the runs execute.
 * Throws usage errors, and the errors of `openSession`.
 */
export async function startTriggerWorker(io: Io, options: TriggerWorkerOptions): Promise<TriggerWorker> {
  const { tenantPorts, onError } = options;
  const closeSteps: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const step of closeSteps.splice(0).reverse()) await step();
  };
  try {
    const store = await openStore(options);
    closeSteps.push(() => store.close());
    const session = await openSession(io, { ...options, recover: false });
    closeSteps.push(() => session.close());
    const { createApi } = await import('@heddle/api');
    const { servicePorts, triggerWorkerAreas } = await import('@heddle/service');
    const { triggerTypes } = await import('@heddle/blocks/triggers');
    const areas = triggerWorkerAreas({
      triggers: triggerTypes,
      environments: tenantPorts.environments,
      feeds: { ...session.network, credentials: tenantPorts.tenantCredentials },
    });
    const operationIds = areas.flatMap(({ operations }) => Object.values(operations).map(({ id }) => id));
    // This API does not listen on the network, so it needs no more limits than a server on localhost.
    const limits = await openLimits({ ...options, host: 'localhost' }, { operationIds, onError });
    closeSteps.push(() => limits.close());
    const api = await createApi({
      ...{ engine: session.engine, database: store, areas, onError, authenticator: rejectingAuthenticator },
      ports: servicePorts(store, { limits: limits.limits }),
    });
    closeSteps.push(() => api.close());
    return { close };
  } catch (error) {
    await close();
    throw error;
  }
}
