import { randomUUID } from 'node:crypto';
import type { SharedStores } from '@heddle/engine/stores';
import { onTestFinished } from 'vitest';
import { openPostgresStores } from '../stores/postgres-stores.ts';
import { startEffectServer } from '../temporal/chaos/effect-server.ts';
import type { EffectServer } from '../temporal/chaos/effect-server.ts';
import { startNode } from './processes.ts';
import type { Node } from './processes.ts';

/** A database schema, a server that records every call of an effect, and processes that use both. */
export interface Environment {
  schema: string;
  stores: SharedStores;
  effects: EffectServer;
  /** Starts another process. */
  startNode(): Promise<Node>;
}

/** Short enough to expire during a test, and long enough for a process on a busy machine to renew it. */
export const LEASE_MS = 5000;

/** Returns an environment whose processes end with the test. */
export async function openEnvironment(url: string, leaseMs = LEASE_MS): Promise<Environment> {
  const schema = randomUUID();
  const effects = await startEffectServer();
  onTestFinished(() => effects.close());
  const stores = await openPostgresStores({ url, schema, maxConnections: 2 });
  return {
    schema,
    stores,
    effects,
    startNode: () => startNode({ url, schema, leaseMs, maxConnections: 4, effectsUrl: effects.url }),
  };
}
