import { BlockError } from '@heddle/core/blocks';
import type { BlockConfig, BlockContext, Json, StepCall, StepOptions } from '@heddle/core/blocks';
import type { Place, StoredValue } from '@heddle/core/run';
import { idempotencyKeyOf } from '../executors/context.ts';
import { wrapStoreErrors } from '../records/infrastructure-error.ts';
import type { Sanitizer } from '../records/sanitizer.ts';
import type { Values } from '../records/values.ts';
import type { StepStore, StoredStep } from '../store/stores.ts';

const MAX_KEY_CHARS = 200;

/** The dependencies that the steps of an attempt get from the run. */
export interface StepDependencies {
  store: StepStore;
  values: Values;
  sanitizer: Sanitizer;
  runId: string;
  place: Place;
  block: Pick<BlockConfig, 'name'>;
  task: {
    /** The reason why the attempt was stopped. If set, its result is ignored. */
    readonly stopReason: Error | undefined;
    /** The error that prevents the run from continuing. */
    readonly fault?: { error: unknown } | undefined;
  };
}

/** The steps of one attempt of a block (`BlockContext.step`). */
export class BlockSteps {
  /** The error that storing or reading a step threw. If set, the result of the executor is ignored. */
  fault: { error: unknown } | undefined;
  readonly #dependencies: StepDependencies;
  #loading: Promise<Map<string, StoredStep>> | undefined;
  /** Running steps, by key: a second call waits for the first. */
  readonly #running = new Map<string, Promise<Json>>();

  constructor(dependencies: StepDependencies) {
    this.#dependencies = dependencies;
  }

  readonly run: BlockContext['step'] = async <T extends Json>(
    key: string,
    work: (step: StepCall) => Promise<T> | T,
    options: StepOptions = {},
  ): Promise<T> => {
    if (key === '' || key.length > MAX_KEY_CHARS) {
      const reason = `A step key must have 1 to ${MAX_KEY_CHARS} characters; this one has ${key.length}`;
      throw new BlockError('BLOCK_FAILED', `${this.#dependencies.block.name}: ${reason}.`, {
        retryable: false,
      });
    }
    const running = this.#running.get(key) ?? this.#runOnce(key, work, options.idempotent === true);
    this.#running.set(key, running);
    try {
      return (await running) as T;
    } finally {
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  };

  async #runOnce(
    key: string,
    work: (step: StepCall) => Promise<Json> | Json,
    idempotent: boolean,
  ): Promise<Json> {
    const { store, runId, place } = this.#dependencies;
    const steps = await (this.#loading ??= this.#load());
    const loadedStep = steps.get(key);
    if (loadedStep?.result) return this.#read(loadedStep.result);
    if (!idempotent) {
      const existingStep = loadedStep ?? (await this.#access(() => store.beginStep(runId, place, key)));
      if (existingStep?.result) return this.#read(existingStep.result);
      if (existingStep) throw this.#unknownOutcomeError(key);
      steps.set(key, { key, result: undefined });
    }
    const idempotencyKey = `${idempotencyKeyOf(runId, place.block, place.scope)}/${key}`;
    const json = await this.#runWork(key, () => work({ idempotencyKey }), idempotent);
    const { values, sanitizer } = this.#dependencies;
    const value = sanitizer.redactJson(json, `The result of step "${key}"`);
    const stored = await this.#access(() => values.store(value));
    const result = await this.#access(() => store.endStep(runId, place, key, stored));
    steps.set(key, { key, result });
    return result === stored ? value : this.#read(result);
  }

  /**
   * Runs the work of a step. If the work fails, removes the step from the store. If the work is interrupted, the step
   * stays in the store, because the work may have taken effect.
   */
  async #runWork(key: string, work: () => Promise<Json> | Json, idempotent: boolean): Promise<Json> {
    const { store, runId, place, task } = this.#dependencies;
    let hasStarted = false;
    try {
      if (task.stopReason) throw task.stopReason;
      hasStarted = true;
      const result = await work();
      if (task.fault) throw task.fault.error;
      return result;
    } catch (error) {
      if (!idempotent && !(hasStarted && task.stopReason)) {
        await this.#access(() => store.forgetStep(runId, place, key));
        (await this.#loading)?.delete(key);
      }
      throw error;
    }
  }

  async #load(): Promise<Map<string, StoredStep>> {
    const { store, runId, place } = this.#dependencies;
    const steps = await this.#access(() => store.steps(runId, place));
    return new Map(steps.map((step) => [step.key, step]));
  }

  /** Returns stored values; the caller may change them. */
  read(values: readonly StoredValue[]): Promise<Json[]> {
    return Promise.all(values.map((value) => this.#read(value)));
  }

  async #read(result: StoredValue): Promise<Json> {
    return structuredClone(await this.#access(() => this.#dependencies.values.load(result)));
  }

  /** Accesses the store. Keeps an error for the attempt, because the executor may catch it. */
  async #access<T>(access: () => T | Promise<T>): Promise<T> {
    try {
      return await wrapStoreErrors(access);
    } catch (error) {
      this.fault ??= { error };
      throw error;
    }
  }

  #unknownOutcomeError(key: string): BlockError {
    return new BlockError(
      'STEP_OUTCOME_UNKNOWN',
      `${this.#dependencies.block.name}: step "${key}" was interrupted, and may have taken effect. It is not repeated; check its effect.`,
      { retryable: false, details: { step: key } },
    );
  }
}
