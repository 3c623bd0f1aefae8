import type { BlockConfig, JsonObject } from '@heddle/core/blocks';
import type { Command, Place } from '@heddle/core/run';
import { createBlockContext } from '../executors/context.ts';
import type { EngineContext } from '../executors/services.ts';
import type { Job } from './job.ts';
import type { PerformerParts } from './performer-parts.ts';
import type { Reader } from './reader.ts';

/** The context of one try; what the block reads of its fields goes into `input`, its input in the log. */
export function tryContext(
  parts: Pick<PerformerParts, 'replica' | 'workflowId' | 'clock' | 'services'>,
  of: {
    command: Extract<Command, { type: 'run' }>;
    place: Place;
    block: BlockConfig;
    reader: Reader;
    job: Job;
    input: JsonObject;
  },
): EngineContext {
  const { replica, workflowId, clock } = parts;
  const { command, place, block, reader, job, input } = of;
  const source = reader.liveSource();
  const deadlineMs = replica.deadlineAt(command.at);
  const context = createBlockContext({
    runId: replica.runId,
    workflowId,
    block,
    scope: place.scope,
    try: command.try,
    signal: job.signal,
    clock,
    services: parts.services(place, reader, job),
    liveSources: source === undefined ? [] : [source],
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  return {
    ...context,
    field: (name, mode) => {
      const value = context.field(name, mode);
      if (value !== undefined) input[name] = value;
      return value;
    },
    fields: () => Object.assign(input, context.fields()),
  };
}
