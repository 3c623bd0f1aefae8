import type { BlockConfig, Clock, Json, JsonObject } from '@heddle/core/blocks';
import type { Command, Place, Replica } from '@heddle/core/run';
import type { ContextParts } from '../executors/context.ts';
import type { ExecutorServices } from '../executors/services.ts';
import type { Job } from './job.ts';
import type { PerformerParts } from './performer-parts.ts';
import type { Reader } from './reader.ts';

/** One try of a block, as its context wants to know it: most blocks ask for little of it, so little is made before. */
export class Attempt implements ContextParts {
  readonly runId: string;
  readonly workflowId: string;
  readonly block: BlockConfig;
  readonly scope: readonly number[];
  readonly try: number;
  readonly clock: Clock;
  readonly lookup: Reader;
  /** What the block has read of its fields so far: its input in the log. */
  readonly input: JsonObject;
  private readonly parts: PerformerParts;
  private readonly place: Place;
  private readonly at: readonly number[];
  private readonly job: Job;
  private made: ExecutorServices | undefined;

  constructor(
    parts: PerformerParts,
    command: Extract<Command, { type: 'run' }>,
    { place, block, reader, job }: { place: Place; block: BlockConfig; reader: Reader; job: Job },
  ) {
    this.runId = parts.replica.runId;
    this.workflowId = parts.workflowId;
    this.block = block;
    this.scope = place.scope;
    this.try = command.try;
    this.clock = parts.clock;
    this.lookup = reader;
    this.input = block.code ? { code: block.code.authored } : {};
    this.parts = parts;
    this.place = place;
    this.at = command.at;
    this.job = job;
  }

  get signal(): AbortSignal {
    return this.job.signal;
  }

  get services(): ExecutorServices {
    return (this.made ??= this.parts.services(this.place, this.lookup, this.job));
  }

  get deadlineMs(): number | undefined {
    const { replica }: { replica: Replica } = this.parts;
    return replica.deadlineAt(this.at);
  }

  get liveSources(): readonly string[] {
    const source = this.lookup.liveSource();
    return source === undefined ? [] : [source];
  }

  onRead(name: string, value: Json): void {
    this.input[name] = value;
  }
}
