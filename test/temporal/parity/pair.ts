import { randomUUID } from 'node:crypto';
import type { DeploymentOptions, WorkerTuning } from '@heddle/temporal';
import { openStores } from '@heddle/engine/stores';
import { expect } from 'vitest';
import { createEngineOn } from '../../../packages/engine/src/create.ts';
import { builtInExecutors } from '../../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../../packages/engine/src/executors/registry.ts';
import type { Scenario } from '../../model/arbitraries.ts';
import { Histories, replayFaults } from '../replay/histories-of.ts';
import type { RunHistory, TemporalServer } from '../replay/histories-of.ts';
import { openOn } from '../replay/open.ts';
import { playLocally } from './local-run.ts';
import type { Place } from './local-run.ts';
import { CHILDREN, planOf } from './plan-of.ts';
import { shapeOf } from './shape.ts';
import { HeldEffects } from './effects.ts';
import { playAlong } from './temporal-run.ts';

/** A run that has not come to its end by then is stuck. */
const STUCK_MS = 200_000;

/** Effects of one run may all be open at once: the script decides which is the next to answer. */
const OPTIONS = { concurrency: { engine: 10_000, run: 10_000 }, sandbox: { maxProcesses: 1 } };

type Deployment = Omit<DeploymentOptions, 'queue'> & { worker?: WorkerTuning };

type There = Place & { close(): Promise<void> };

/** The local runtime in memory and the one on a server, with runs that are to be the same on both. */
export class Pair {
  readonly #here: There;
  readonly #there: There;
  readonly #histories: Histories;
  /** There, every block runs by itself. */
  readonly #apart: boolean;
  readonly #played: { scenario: Scenario; histories: RunHistory[] }[] = [];

  private constructor(parts: { here: There; there: There; histories: Histories; apart: boolean }) {
    this.#here = parts.here;
    this.#there = parts.there;
    this.#histories = parts.histories;
    this.#apart = parts.apart;
  }

  static async on(
    server: TemporalServer,
    { data, deployment }: { data: string; deployment: Deployment },
  ): Promise<Pair> {
    const here = await inMemory();
    const effects = new HeldEffects();
    const there = await openOn(server, {
      ...deployment,
      data,
      options: { ...OPTIONS, blocks: effects.executors },
      worker: { activities: 1000, ...deployment.worker },
    });
    for (const { engine } of [here, there]) for (const child of CHILDREN) await engine.deploy(child);
    const histories = await Histories.at(server);
    return new Pair({
      here,
      there: { ...there, effects },
      histories,
      apart: deployment.checkpoint === 'block',
    });
  }

  /** Plays the scenario on both and expects the same of them; false if the order of events is undefined. */
  async compare(scenario: Scenario): Promise<boolean> {
    const run = { plan: planOf(scenario), scenario, runId: randomUUID(), apart: this.#apart };
    let at = 'the local run';
    const compared = async (): Promise<boolean> => {
      const script = await playLocally(this.#here, run);
      if (script.racy) return false;
      at = `the run ${run.runId} on the server`;
      const entries = await playAlong(this.#there, {
        ...run,
        ...script,
        total: script.entries.length,
        isThrough: (runId) => this.#histories.isThrough(runId),
      });
      const expected = await shapeOf(this.#here.engine, run.runId, script.entries);
      expect(await shapeOf(this.#there.engine, run.runId, entries)).toEqual(expected);
      at = 'the end of its workflow';
      const histories = await this.#histories.of(run.runId);
      this.#played.push({ scenario, histories });
      return true;
    };
    return within(STUCK_MS, compared()).catch(async (error: unknown) => {
      const history = await this.#histories.shortly(run.runId);
      throw new Error(`${String(error)}; ${at}; ${history}`, { cause: error });
    });
  }

  /**
   * The scenarios whose histories cannot be replayed. All are replayed by one worker: each one's source map takes memory
   * that the SDK does not give back, and hundreds of them more than a process has.
   */
  async unreplayable(): Promise<{ scenario: Scenario; error: string }[]> {
    const faults = await replayFaults(this.#played.flatMap(({ histories }) => histories));
    return faults.map((error) => {
      const [runId] = error.split(':');
      const one = this.#played.find(({ histories }) => histories[0]?.workflowId === runId);
      if (!one) throw new Error(error);
      return { scenario: one.scenario, error: `its replay: ${error}` };
    });
  }

  async close(): Promise<void> {
    await this.#histories.close();
    await this.#there.close();
    await this.#here.close();
  }
}

async function inMemory(): Promise<There> {
  const effects = new HeldEffects();
  const stores = openStores();
  const registry = createRegistry(builtInExecutors, effects.executors);
  const engine = await createEngineOn(stores, registry, { ...OPTIONS, blocks: effects.executors });
  return { engine, stores, effects, close: () => engine.close({ graceMs: 0 }) };
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It is not done after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
