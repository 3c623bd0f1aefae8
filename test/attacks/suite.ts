import {
  createSandbox,
  type FunctionOutcome,
  type JobLimits,
  type Sandbox,
  type SandboxOptions,
} from '@heddle/sandbox';
import { createEgress, type Egress, type EgressPolicy } from '@heddle/sandbox/egress';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatOutcome, isExpected, type Attack, type AttackGroup } from './attack.ts';
import { sample } from '../support/scale.ts';
import { levels, type Level } from './levels.ts';
import { EXTERNAL_ADDRESS, type Network } from './network.ts';
import { openHostMonitor, type HostMonitor } from './watch.ts';

/** Enough for every attack that ends by itself, even on a busy machine. */
const GENEROUS_LIMITS: Partial<JobLimits> = { cpuMs: 20_000, wallMs: 25_000 };

export interface SuiteOptions {
  /** Egress policy of the sandbox; by default only the server that represents the internet. */
  readonly policy?: EgressPolicy;
  readonly sandbox?: SandboxOptions;
  /**
   * Share of the attacks that a quick run samples at the highest level; default 1, less for slow attacks. The other
   * levels have an eighth of it.
   */
  readonly share?: number;
  /** Suffix of the suite's name if a group runs in several variants. */
  readonly variant?: string;
}

/** A sandbox at one level, with the checks of the invariants. */
export class Harness {
  readonly sandbox: Sandbox;
  readonly network: Network;
  readonly #egress: Egress;
  readonly #monitor: HostMonitor;

  constructor(level: Level, monitor: HostMonitor, { policy, sandbox }: SuiteOptions) {
    const { network } = monitor;
    this.#monitor = monitor;
    this.network = network;
    this.#egress = createEgress(
      policy ?? {
        allowPrivate: [`${EXTERNAL_ADDRESS.address}/32`],
        ports: 'any',
        maxResponseBytes: 1_000_000,
      },
      (host) => network.resolve(host),
    );
    this.sandbox = createSandbox({
      maxProcesses: 1,
      ...level.options,
      fetch: (request) => this.#egress.fetch(request),
      ...sandbox,
      limits: { ...GENEROUS_LIMITS, ...sandbox?.limits },
    });
  }

  /** Runs an attack. Returns its outcome, and that of the earlier job. */
  async run(
    attack: Attack,
    language: AttackGroup['language'],
  ): Promise<{ outcome: FunctionOutcome; earlierOutcome: FunctionOutcome | undefined }> {
    const { internalPort, externalPort, rawPort } = this.network;
    const values = Object.entries({ internalPort, externalPort, rawPort, ...attack.values });
    const job = {
      runId: attack.id,
      language,
      ...(attack.image !== undefined && { image: attack.image }),
      values: Object.fromEntries(values.map(([name, value]) => [name, JSON.stringify(value)])),
    };
    const { earlierCode } = attack;
    const earlierOutcome =
      earlierCode === undefined ? undefined : await this.sandbox.run({ ...job, code: earlierCode });
    if (earlierOutcome?.ok === false)
      throw new Error(`The job before ${attack.id} failed: ${formatOutcome(earlierOutcome).text}`);
    const limits = { ...attack.limits };
    const outcome = await this.sandbox.run({ ...job, code: attack.code, limits });
    this.sandbox.release(attack.id);
    return { outcome, earlierOutcome };
  }

  /** Starts the checks. */
  async reset(): Promise<void> {
    await this.#monitor.reset();
  }

  /** Returns the violations of the invariants, which do not depend on the expected outcome. */
  async findViolations(outcome: unknown): Promise<string[]> {
    return this.#monitor.findViolations(outcome);
  }

  async close(): Promise<void> {
    await this.sandbox.close();
    await this.#egress.close();
    await this.#monitor.close();
  }
}

/** Opens a harness for the tests of the describe block in which this is called. */
export function useHarness(level: Level, options: SuiteOptions = {}): { readonly harness: Harness } {
  const harnessRef = {} as { harness: Harness };
  beforeAll(async () => {
    harnessRef.harness = new Harness(level, await openHostMonitor(), options);
  });
  afterAll(async () => {
    // Late effects may occur after the last job.
    expect(await harnessRef.harness.findViolations('')).toEqual([]);
    await harnessRef.harness.close();
  });
  return harnessRef;
}

const highestLevel = levels.at(-1);

const parseItems = (outcome: FunctionOutcome | undefined): unknown[] =>
  outcome?.ok ? (JSON.parse(outcome.json) as unknown[]) : [];

/** Defines a test for each attack of a group, on every isolation level of this machine. */
export function testAttacks(group: AttackGroup, options: SuiteOptions = {}): void {
  const { language, attacks } = group;
  describe.each(levels)(`${group.name}${options.variant ?? ''}, isolation $name`, (level) => {
    const harnessRef = useHarness(level, options);
    // The levels differ in the confinement of the process, not in what the code of a job may do.
    const share = (options.share ?? 1) * (level === highestLevel ? 1 : 1 / 8);
    const sampledAttacks = sample(attacks, Math.ceil(attacks.length * share), `attacks of ${group.name}`);
    it.each(sampledAttacks.map((attack) => [attack.id, attack.title, attack] as const))(
      '%s: %s',
      async (_id, _title, attack) => {
        const { harness } = harnessRef;
        await harness.reset();
        const { outcome, earlierOutcome } = await harness.run(attack, language);
        const { text } = formatOutcome(outcome);
        expect(isExpected(outcome, attack.expected) ? attack.expected : text).toEqual(attack.expected);
        if (attack.requiresDistinctResults) {
          const earlierItems = parseItems(earlierOutcome);
          expect(parseItems(outcome).filter((item) => earlierItems.includes(item))).toEqual([]);
        }
        if (attack.stdout !== undefined) expect(outcome.stdout).toMatch(attack.stdout);
        expect(await harness.findViolations(outcome)).toEqual([]);
        // Skipped for Python, whose next interpreter starts slowly; the next attack covers it.
        if (language === 'python') return;
        const nextOutcome = await harness.sandbox.run({ runId: 'next', code: 'return 1' });
        expect(formatOutcome(nextOutcome).text, 'the next job').toBe('1');
      },
    );
  });
}
