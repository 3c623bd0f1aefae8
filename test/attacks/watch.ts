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
export interface Watch {
  readonly network: Network;
  /** Starts the checks for the next attack. Connections to the internal server since the last check still count. */
  reset(): Promise<void>;
  /** Returns all violations of the invariants, including secrets in `output`. */
  violations(output: unknown): Promise<string[]>;
  close(): Promise<void>;
}

export async function openWatch(): Promise<Watch> {
  [process.env[SECRET_VARIABLE], heap.secret] = SECRETS;
  const network = await openNetwork();
  const lag = watchLag();
  const prototypes = watchPrototypes();
  return {
    network,
    reset: () => lag.reset(),
    async violations(output) {
      const lagMs = await lag.lagMs();
      const intrusions = network.takeIntrusions();
      const text = JSON.stringify(output) ?? '';
      return [
        ...(lagMs < MAX_LAG_MS ? [] : [`the host's event loop was late by ${lagMs} ms`]),
        ...(intrusions === 0 ? [] : [`${intrusions} connections to the internal server`]),
        ...prototypes.changes().map((change) => `changed in the host: ${change}`),
        ...SECRETS.filter((secret) => text.includes(secret)).map(() => 'a secret of the host in the outcome'),
      ];
    },
    async close() {
      delete process.env[SECRET_VARIABLE];
      await lag.stop();
      network.close();
    },
  };
}

/** Checks the invariants after every test of the describe block in which this is called. */
export function watchHost(): { readonly watch: Watch } {
  const holder = {} as { watch: Watch };
  beforeAll(async () => {
    holder.watch = await openWatch();
  });
  beforeEach(() => holder.watch.reset());
  afterEach(async () => {
    expect(await holder.watch.violations('')).toEqual([]);
  });
  afterAll(async () => {
    expect(await holder.watch.violations('')).toEqual([]);
    await holder.watch.close();
  });
  return holder;
}
