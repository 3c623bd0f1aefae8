import { getOwn } from '@heddle/core/blocks';
import type { BlockConfig, Json, JsonObject, NotificationOutcome } from '@heddle/core/blocks';
import { authoredValue, inputFields, parseIfJson } from '@heddle/core/fields';
import { resumeOutput } from './human-resume.ts';
import { coerceField } from './input-format.ts';
import type { EngineContext, EngineExecutor } from './services.ts';
import { asRows, asText } from './values.ts';

/**
 * Pauses the run until a person resumes it. Calls the notification tools of the block first; their failures do not
 * fail the block.
 */
export const humanExecutor: EngineExecutor = {
  types: ['human_in_the_loop'],
  class: 'pause',
  execute: (context) => {
    const rows = notificationRows(context.block);
    const { notify } = context.services;
    if (rows.length === 0 || !notify) return { pause: pauseOutput(context, rows.map(unsentOutcome)) };
    return notify(context).then((outcomes) => ({ pause: pauseOutput(context, outcomes) }));
  },
  resume: (context) => resumeOutput(context),
};

function pauseOutput(context: EngineContext, notifications: readonly NotificationOutcome[]): JsonObject {
  const inputFormat = asRows(context.field('inputFormat')) ?? [];
  const output = new Map<string, Json>();
  for (const field of inputFields(inputFormat))
    output.set(field.name, field.value === undefined ? null : coerceField(field.value, field.type));
  output.set('response', {
    data: {
      operation: asText(context.field('operation')) || 'human',
      responseStructure: responseStructureOf(context.field('builderData')),
      inputFormat,
      submission: null,
      ...(notifications.length > 0 && { notifications: notifications.map((outcome) => ({ ...outcome })) }),
    },
    status: 200,
    headers: { 'Content-Type': 'application/json' },
  });
  for (const [name, link] of Object.entries(context.services.pauseLinks?.() ?? {})) {
    if (link !== undefined) output.set(name, link);
  }
  return Object.fromEntries(output);
}

function responseStructureOf(entries: Json | undefined): Json {
  return (asRows(entries) ?? []).map((entry) => ({
    name: asText(getOwn(entry, 'name')),
    type: asText(getOwn(entry, 'type')) || 'string',
    value: getOwn(entry, 'value') ?? null,
  }));
}

/** Returns the authored rows of a pause's notification tools. */
function notificationRows({ type, params }: BlockConfig): JsonObject[] {
  if (type !== 'human_in_the_loop') return [];
  return asRows(parseIfJson(authoredValue(params['notification']) ?? null)) ?? [];
}

/** Returns the failed outcome of a notification, for an engine that cannot send it. The pause still opens. */
function unsentOutcome(row: JsonObject): NotificationOutcome {
  const title = asText(getOwn(row, 'title'));
  return {
    type: asText(getOwn(row, 'type')),
    ...(title !== '' && { title }),
    status: 'failed',
    error: 'This engine has no tools that send notifications.',
  };
}
