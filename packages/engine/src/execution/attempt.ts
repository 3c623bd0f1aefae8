import type { BlockConfig, BlockContext, BlockEmission, Clock, Json, JsonObject } from '@heddle/core/blocks';
import type { Command, Place, RunState } from '@heddle/core/run';
import type { BlockContextOptions } from '../executors/context.ts';
import type { ExecutorServices } from '../executors/services.ts';
import type { Values } from '../records/values.ts';
import type { AttemptHeader } from './attempt-entry.ts';
import { BlockSteps } from './block-steps.ts';
import type { Slot } from './concurrency-limiter.ts';
import type { Emissions } from '../records/emissions.ts';
import { ChildWaits } from './child-waits.ts';
import { ReferenceResolver } from './reference-resolver.ts';
import type { RunEnvironment } from './run-environment.ts';
import type { StepStore } from '../store/stores.ts';

/** A running attempt of a block. */
export class BlockTask {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Number of times that the attempt has been resumed; undefined: 0. */
  readonly resumes: number | undefined;
  /** The slot of the attempt, if the limit of concurrent effects applies. Undefined: it needs no slot. */
  slot: Slot | undefined;
  /** The error that prevents the run from continuing. If set, the result of the executor is ignored. */
  fault: { error: unknown } | undefined;
  /** The token of the pause point that the attempt opens, once known. */
  pauseToken: string | undefined;
  /** The reason why the attempt was stopped. If set, its result is ignored. */
  stopReason: Error | undefined;
  #controller: AbortController | undefined;
  readonly #onChildChange: () => void;
  #children: ChildWaits | undefined;

  /** `onChildChange`: called after each change of the child runs that the attempt waits for. */
  constructor({ try: attempt, resumes }: { try: number; resumes?: number }, onChildChange: () => void) {
    this.attempt = attempt;
    this.resumes = resumes;
    this.#onChildChange = onChildChange;
  }

  /** The child runs that the attempt waits for. Created at first use, because most blocks have none. */
  get children(): ChildWaits {
    return (this.#children ??= new ChildWaits(this.#onChildChange));
  }

  get hasChildren(): boolean {
    return (this.#children?.size ?? 0) > 0;
  }

  /** True while the attempt only waits for child runs, which do not depend on it. */
  get waitsForChild(): boolean {
    return this.#children?.isOnlyWaiting ?? false;
  }

  /** The abort signal of the attempt. Created at its first use, because most blocks never use it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.stopReason && !this.#controller.signal.aborted) this.#controller.abort(this.stopReason);
    return this.#controller.signal;
  }

  stop(reason: Error): void {
    this.stopReason ??= reason;
    this.#controller?.abort(this.stopReason);
  }
}

/** The dependencies that an attempt gets from its run. */
export interface AttemptDependencies {
  runState: RunState;
  workflowId: string;
  clock: Clock;
  environment: RunEnvironment;
  values: Values;
  /** The steps of the run's blocks. */
  steps: StepStore;
  services(place: Place, resolver: ReferenceResolver, task: BlockTask): ExecutorServices;
  /** The emissions of the blocks. */
  emissions: Pick<Emissions, 'add' | 'end' | 'flush'>;
}

/** The context of one attempt of a block. Most blocks use little of it, so values are computed at their first use. */
export class Attempt implements BlockContextOptions {
  readonly place: Place;
  readonly block: BlockConfig;
  readonly task: BlockTask;
  readonly lookup: ReferenceResolver;
  /** The number of the attempt, and the number of its resumes. */
  readonly numbers: Pick<AttemptHeader, 'try' | 'resumes'>;
  /** The fields that the block has read so far: its input in the log. */
  input: JsonObject | undefined;
  startedMs: number;
  readonly #dependencies: AttemptDependencies;
  readonly #address: readonly number[];
  #hasEmitted = false;
  #createdServices: ExecutorServices | undefined;
  #createdSteps: BlockSteps | undefined;

  constructor(
    dependencies: AttemptDependencies,
    command: Extract<Command, { type: 'run' }>,
    place: Place,
    task: BlockTask,
  ) {
    this.place = place;
    this.block = dependencies.runState.plan.blocks[place.block] as BlockConfig;
    this.task = task;
    this.lookup = new ReferenceResolver(dependencies.runState, place, dependencies.environment);
    const { try: attempt, resumes } = command;
    this.numbers = resumes === undefined ? { try: attempt } : { try: attempt, resumes };
    this.input = this.block.code && { code: this.block.code.authored };
    this.startedMs = dependencies.clock.now();
    this.#dependencies = dependencies;
    this.#address = command.at;
  }

  get try(): number {
    return this.numbers.try;
  }

  get runId(): string {
    return this.#dependencies.runState.runId;
  }

  get workflowId(): string {
    return this.#dependencies.workflowId;
  }

  get scope(): readonly number[] {
    return this.place.scope;
  }

  get clock(): Clock {
    return this.#dependencies.clock;
  }

  get signal(): AbortSignal {
    return this.task.signal;
  }

  get services(): ExecutorServices {
    return (this.#createdServices ??= this.#dependencies.services(this.place, this.lookup, this.task));
  }

  get step(): BlockContext['step'] {
    return this.#steps.run;
  }

  get #steps(): BlockSteps {
    const { steps: store, values, environment } = this.#dependencies;
    const { sanitizer } = environment;
    const { runId, place, block, task } = this;
    const dependencies = { store, values, sanitizer, runId, place, block, task };
    return (this.#createdSteps ??= new BlockSteps(dependencies));
  }

  answers(): Promise<Json[]> {
    const { runState } = this.#dependencies;
    // Read immediately, because the ledger removes the answers when the block ends.
    return this.#steps.read([...runState.ledger.answersAt(this.place)]);
  }

  /** The error of a step or child run that prevents the run from continuing. If set, the attempt has no result. */
  get fault(): { error: unknown } | undefined {
    return this.#createdSteps?.fault ?? this.task.fault;
  }

  get deadlineMs(): number | undefined {
    return this.#dependencies.runState.deadlineAt(this.#address);
  }

  get fieldOverrides(): JsonObject | undefined {
    return this.lookup.fieldOverrides();
  }

  get liveSources(): readonly string[] {
    const source = this.lookup.lastSourceId();
    return source === undefined ? [] : [source];
  }

  emit(emission: BlockEmission): void {
    if (this.task.stopReason) return;
    this.#dependencies.emissions.add(this.place, emission, !this.#hasEmitted);
    this.#hasEmitted = true;
  }

  /**
   * Ends the emissions. Resolves when they are published, so that listeners get them before the attempt's result.
   * Returns undefined if there is nothing to wait for. `isInterrupted`: the attempt has failed, so its text may be
   * incomplete.
   */
  endEmissions(options: { isInterrupted: boolean }): Promise<void> | undefined {
    if (!this.#hasEmitted) return undefined;
    this.#dependencies.emissions.end(this.place, options);
    return this.#dependencies.emissions.flush();
  }

  onRead(name: string, value: Json): void {
    (this.input ??= {})[name] = value;
  }
}
