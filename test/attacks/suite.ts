import { randomUUID } from 'node:crypto';
import {
  createSandbox,
  type FunctionOutcome,
  type Limits,
  type Sandbox,
  type SandboxOptions,
} from '@heddle/sandbox';
import { createEgress, type Egress, type EgressPolicy } from '@heddle/sandbox/egress';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ending, isExpected, type Attack, type AttackGroup } from './attack.ts';
import { MOST_LAG_MS, watchLag, type LagMonitor } from './lag.ts';
import { levels, type Level } from './levels.ts';
import { openNetwork, OUTER, type Network } from './network.ts';
import { watchPrototypes } from './prototypes.ts';

/** What attacks are after: a value in the environment of this process and one in its memory. */
const SECRETS = [`env-${randomUUID()}`, `heap-${randomUUID()}`];

/** Enough for every attack that is meant to end by itself, also on a machine that is busy. */
const PATIENT: Partial<Limits> = { cpuMs: 20_000, wallMs: 25_000 };

export interface SuiteOptions {
  /** Where the sandbox may connect to; by default to the server that stands for the internet. */
  readonly policy?: EgressPolicy;
  readonly sandbox?: SandboxOptions;
  /** At which levels; default: all that the machine has. */
  readonly at?: readonly Level[];
  /** Names the suite where a group is run several ways. */
  readonly variant?: string;
}

/** A sandbox at one level with all that watches over it. */
export class Arena {
  readonly sandbox: Sandbox;
  readonly network: Network;
  readonly #egress: Egress;
  readonly #lag: LagMonitor;
  readonly #prototypes = watchPrototypes();

  constructor(level: Level, network: Network, { policy, sandbox }: SuiteOptions) {
    this.network = network;
    this.#egress = createEgress(
      policy ?? { allowPrivate: [`${OUTER.address}/32`], ports: 'any', maxResponseBytes: 1_000_000 },
      (host) => network.resolve(host),
    );
    this.#lag = watchLag();
    this.sandbox = createSandbox({
      maxProcesses: 1,
      ...level.options,
      fetch: (request) => this.#egress.fetch(request),
      ...sandbox,
      limits: { ...PATIENT, ...sandbox?.limits },
    });
  }

  /** The outcome of an attack, after its set-up. */
  async run(attack: Attack, language: AttackGroup['language']): Promise<FunctionOutcome> {
    const { internalPort, outerPort, rawPort } = this.network;
    const values = Object.entries({ internalPort, outerPort, rawPort, ...attack.values });
    const job = {
      runId: attack.id,
      language,
      ...(attack.image !== undefined && { image: attack.image }),
      values: Object.fromEntries(values.map(([name, value]) => [name, JSON.stringify(value)])),
    };
    if (attack.before !== undefined) {
      const first = await this.sandbox.run({ ...job, code: attack.before });
      if (!first.ok) throw new Error(`The job before ${attack.id} failed: ${ending(first).text}`);
    }
    const limits = { ...attack.limits };
    const outcome = await this.sandbox.run({ ...job, code: attack.code, limits });
    this.sandbox.release(attack.id);
    return outcome;
  }

  /** Begins to watch. */
  async reset(): Promise<void> {
    this.network.takeIntrusions();
    await this.#lag.reset();
  }

  /** What an attack did that none may do, whatever it ended with. */
  async harm(outcome: unknown): Promise<string[]> {
    const lagMs = await this.#lag.lagMs();
    const intrusions = this.network.takeIntrusions();
    const told = JSON.stringify(outcome);
    return [
      ...(lagMs < MOST_LAG_MS ? [] : [`the host's event loop was late by ${lagMs} ms`]),
      ...(intrusions === 0 ? [] : [`${intrusions} connections to the internal server`]),
      ...this.#prototypes.changes().map((change) => `changed in the host: ${change}`),
      ...SECRETS.filter((secret) => told.includes(secret)).map(() => 'a secret of the host in the outcome'),
    ];
  }

  async close(): Promise<void> {
    await this.sandbox.close();
    await this.#egress.close();
    await this.#lag.stop();
    this.network.close();
  }
}

const keep: { secret?: string | undefined } = {};

/** An arena for the tests of the describe block in which this is called. */
export function useArena(level: Level, options: SuiteOptions = {}): { readonly arena: Arena } {
  const holder = {} as { arena: Arena };
  beforeAll(async () => {
    [process.env['HEDDLE_ATTACK_TARGET'], keep.secret] = SECRETS;
    holder.arena = new Arena(level, await openNetwork(), options);
  });
  afterAll(async () => {
    delete process.env['HEDDLE_ATTACK_TARGET'];
    await holder.arena.close();
  });
  return holder;
}

/** Every so many attacks of a group, from its first. */
export function sampleOf(group: AttackGroup, every: number): AttackGroup {
  return { ...group, attacks: group.attacks.filter((_, at) => at % every === 0) };
}

/** A test for each attack of a group, on every level of isolation that this machine has. */
export function testAttacks(group: AttackGroup, options: SuiteOptions = {}): void {
  const { language, attacks } = group;
  describe.each(options.at ?? levels)(`${group.name}${options.variant ?? ''}, isolation $name`, (level) => {
    const holder = useArena(level, options);
    it.each(attacks.map((attack) => [attack.id, attack.title, attack] as const))(
      '%s: %s',
      async (_id, _title, attack) => {
        const { arena } = holder;
        await arena.reset();
        const outcome = await arena.run(attack, language);
        const { text } = ending(outcome);
        expect(isExpected(outcome, attack.expected) ? attack.expected : text).toEqual(attack.expected);
        if (attack.stdout !== undefined) expect(outcome.stdout).toMatch(attack.stdout);
        expect(await arena.harm(outcome)).toEqual([]);
        // Python's next interpreter takes a while; the next attack shows as well whether there is one.
        if (language === 'python') return;
        const next = await arena.sandbox.run({ runId: 'next', code: 'return 1' });
        expect(ending(next).text, 'the next job').toBe('1');
      },
    );
  });
}
