import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { MOST_LAG_MS, watchLag } from './lag.ts';
import { openNetwork, type Network } from './network.ts';
import { watchPrototypes } from './prototypes.ts';

/** Secrets that attacks look for: in the environment of this process and in its memory. */
const SECRETS = [`env-${randomUUID()}`, `heap-${randomUUID()}`];
const VARIABLE = 'HEDDLE_ATTACK_TARGET';

const keep: { secret?: string | undefined } = {};

/** Checks the invariants of the host after an attack. */
export interface Watch {
  readonly network: Network;
  /** Starts the next attack. Connections to the internal server after the last one still count. */
  reset(): Promise<void>;
  /** Returns all violations since, including secrets in `output`. */
  harm(output: unknown): Promise<string[]>;
  close(): Promise<void>;
}

export async function openWatch(): Promise<Watch> {
  [process.env[VARIABLE], keep.secret] = SECRETS;
  const network = await openNetwork();
  const lag = watchLag();
  const prototypes = watchPrototypes();
  return {
    network,
    reset: () => lag.reset(),
    async harm(output) {
      const lagMs = await lag.lagMs();
      const intrusions = network.takeIntrusions();
      const text = JSON.stringify(output) ?? '';
      return [
        ...(lagMs < MOST_LAG_MS ? [] : [`the host's event loop was late by ${lagMs} ms`]),
        ...(intrusions === 0 ? [] : [`${intrusions} connections to the internal server`]),
        ...prototypes.changes().map((change) => `changed in the host: ${change}`),
        ...SECRETS.filter((secret) => text.includes(secret)).map(() => 'a secret of the host in the outcome'),
      ];
    },
    async close() {
      delete process.env[VARIABLE];
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
    expect(await holder.watch.harm('')).toEqual([]);
  });
  afterAll(async () => {
    expect(await holder.watch.harm('')).toEqual([]);
    await holder.watch.close();
  });
  return holder;
}
