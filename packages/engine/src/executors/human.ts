import { own } from '@heddle/core/blocks';
import type { BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { parsedText } from '@heddle/core/fields';
import { authored } from './authored.ts';
import { resumeOutput } from './human-resume.ts';
import { inputFields } from '@heddle/core/fields';
import { coerceField } from './input-format.ts';
import type { EngineContext, EngineExecutor } from './services.ts';
import { asRows, asText } from './values.ts';

/** Pauses the run until a person resumes it. */
export const humanExecutor: EngineExecutor = {
  types: ['human_in_the_loop'],
  class: 'pause',
  execute: (context) => ({ pause: pauseOutput(context) }) satisfies BlockResult,
  resume: (context) => resumeOutput(context),
};

function pauseOutput(context: EngineContext): JsonObject {
  const inputFormat = asRows(context.field('inputFormat')) ?? [];
  const output = new Map<string, Json>();
  for (const field of inputFields(inputFormat))
    output.set(field.name, field.value === undefined ? null : coerceField(field.value, field.type));
  output.set('response', {
    data: {
      operation: asText(context.field('operation')) || 'human',
      responseStructure: structureOf(context.field('builderData')),
      inputFormat,
      submission: null,
      ...unsentNotifications(authored(context.block.params['notification'])),
    },
    status: 200,
    headers: { 'Content-Type': 'application/json' },
  });
  for (const [name, link] of Object.entries(context.services.pauseLinks?.() ?? {})) {
    if (link !== undefined) output.set(name, link);
  }
  return Object.fromEntries(output);
}

function structureOf(entries: Json | undefined): Json {
  return (asRows(entries) ?? []).map((entry) => ({
    name: asText(own(entry, 'name')),
    type: asText(own(entry, 'type')) || 'string',
    value: own(entry, 'value') ?? null,
  }));
}

/** Records notifications as not sent: the engine cannot send them, which does not prevent the pause. */
function unsentNotifications(tools: Json | undefined): JsonObject {
  const rows = asRows(parsedText(tools ?? null)) ?? [];
  if (rows.length === 0) return {};
  return {
    notifications: rows.map((tool) => ({
      type: asText(own(tool, 'type')),
      sent: false,
      error: 'This engine sends no notifications: send one from a block before the pause.',
    })),
  };
}
