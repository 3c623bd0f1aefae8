import type { BlockConfig, BlockEmission, Clock, Json, JsonObject } from '@heddle/core/blocks';
import type { Command, Place } from '@heddle/core/run';
import type { ContextParts } from '../executors/context.ts';
import type { ExecutorServices } from '../executors/services.ts';
import type { Job } from './job.ts';
import type { PerformerParts } from './performer-parts.ts';
import { Reader } from './reference-resolver.ts';

/** One try of a block, as its context wants to know it: most blocks ask for little of it, so little is made before. */
export class Attempt implements ContextParts {
  readonly place: Place;
  readonly block: BlockConfig;
  readonly job: Job;
  readonly lookup: Reader;
  readonly try: number;
  /** What the block has read of its fields so far: its input in the log. */
  input: JsonObject | undefined;
  startedMs: number;
  private readonly parts: PerformerParts;
  private readonly at: readonly number[];
  private made: ExecutorServices | undefined;

  constructor(parts: PerformerParts, command: Extract<Command, { type: 'run' }>, place: Place, job: Job) {
    this.place = place;
    this.block = parts.replica.plan.blocks[place.block] as BlockConfig;
    this.job = job;
    this.lookup = new Reader(parts.replica, place, parts.environment);
    this.try = command.try;
    this.input = this.block.code && { code: this.block.code.authored };
    this.startedMs = parts.clock.now();
    this.parts = parts;
    this.at = command.at;
  }

  get runId(): string {
    return this.parts.replica.runId;
  }

  get workflowId(): string {
    return this.parts.workflowId;
  }

  get scope(): readonly number[] {
    return this.place.scope;
  }

  get clock(): Clock {
    return this.parts.clock;
  }

  get signal(): AbortSignal {
    return this.job.signal;
  }

  get services(): ExecutorServices {
    return (this.made ??= this.parts.services(this.place, this.lookup, this.job));
  }

  get deadlineMs(): number | undefined {
    return this.parts.replica.deadlineAt(this.at);
  }

  get liveSources(): readonly string[] {
    const source = this.lookup.liveSource();
    return source === undefined ? [] : [source];
  }

  emit(emission: BlockEmission): void {
    if (!this.job.stopped) this.parts.emit?.(this.place, emission);
  }

  onRead(name: string, value: Json): void {
    (this.input ??= {})[name] = value;
  }
}
