import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { MAX_LAG_MS, watchLag } from './lag.ts';
import { openNetwork, type Network } from './network.ts';
import { watchPrototypes } from './prototypes.ts';

/** Secrets for which attacks search: one in the environment of this process, one in its memory. */
const SECRETS = [`env-${randomUUID()}`, `heap-${randomUUID()}`];
const SECRET_VARIABLE = 'HEDDLE_ATTACK_TARGET';

const heap: { secret?: string | undefined } = {};

/** Checks the invariants of the host after an attack. */
export interface HostMonitor {
  readonly network: Network;
  /** Starts the checks for the next attack. Connections to the internal server since the last check still count. */
  reset(): Promise<void>;
  /** Returns all violations of the invariants, including secrets in `output`. */
  findViolations(output: unknown): Promise<string[]>;
  close(): Promise<void>;
}

export async function openHostMonitor(): Promise<HostMonitor> {
  [process.env[SECRET_VARIABLE], heap.secret] = SECRETS;
  const network = await openNetwork();
  const lagMonitor = watchLag();
  const prototypeMonitor = watchPrototypes();
  return {
    network,
    reset: () => lagMonitor.reset(),
    async findViolations(output) {
      const lagMs = await lagMonitor.measureLagMs();
      const connectionCount = network.takeConnectionCount();
      const text = JSON.stringify(output) ?? '';
      return [
        ...(lagMs < MAX_LAG_MS ? [] : [`the host's event loop was blocked for ${lagMs} ms`]),
        ...(connectionCount === 0 ? [] : [`${connectionCount} connections to the internal server`]),
        ...prototypeMonitor.findChanges().map((change) => `changed in the host: ${change}`),
        ...SECRETS.filter((secret) => text.includes(secret)).map(() => 'a secret of the host in the outcome'),
      ];
    },
    async close() {
      delete process.env[SECRET_VARIABLE];
      await lagMonitor.stop();
      network.close();
    },
  };
}

/** Checks the invariants after every test of the describe block in which this is called. */
export function watchHost(): { readonly monitor: HostMonitor } {
  const monitorRef = {} as { monitor: HostMonitor };
  beforeAll(async () => {
    monitorRef.monitor = await openHostMonitor();
  });
  beforeEach(() => monitorRef.monitor.reset());
  afterEach(async () => {
    expect(await monitorRef.monitor.findViolations('')).toEqual([]);
  });
  afterAll(async () => {
    expect(await monitorRef.monitor.findViolations('')).toEqual([]);
    await monitorRef.monitor.close();
  });
  return monitorRef;
}
