import { EngineError, isJsonObject, own } from '@heddle/core/blocks';
import type { BlockConfig, Json, JsonObject } from '@heddle/core/blocks';
import { authored } from './authored.ts';
import { fillFields, inputFields } from './input-format.ts';
import type { InputField } from './input-format.ts';
import { normalizeFiles } from './start-files.ts';
import { isOn } from './values.ts';

/** Names that steer a run; an input or a field of that name could not be told from an engine's own. */
const RESERVED: readonly string[] = ['error', 'selectedOption', 'selectedRoute', '_pauseMetadata'];

type Kind = 'unified' | 'api' | 'chat' | 'manual' | 'external';

interface Start {
  block: BlockConfig;
  fields: readonly InputField[];
  /** The input as an object: anything else came as `input`. */
  top: JsonObject;
  input: Json;
}

const SHAPES: { [K in Kind]: (start: Start) => Map<string, Json> } = {
  unified: unifiedOutput,
  api: apiOutput,
  chat: chatOutput,
  manual: ({ top }) => new Map(Object.entries(top)),
  external: ({ fields, top }) => new Map([...Object.entries(top), ...fillFields(fields, top, undefined)]),
};

/**
 * The output of the block that a run starts at, made from the run's input.
 *
 * `metadata` gives what the run knows of itself; it becomes `metadata` of the output when the block's `runMetadata` is on.
 * Throws INPUT_INVALID when the input, or the block's format, uses a reserved name.
 */
export function startOutput(block: BlockConfig, input: Json, metadata = (): JsonObject => ({})): JsonObject {
  const kind = kindOf(block);
  const fields = inputFields(authored(block.params['inputFormat']));
  const top = isJsonObject(input) ? input : wrap(input);
  const withMetadata = isOn(authored(block.params['runMetadata']));
  if (kind !== 'chat')
    refuseReserved(block, [...fields.map((field) => field.name), ...namesOf(kind, top)], RESERVED);
  if (withMetadata)
    refuseReserved(
      block,
      fields.map((field) => field.name),
      ['metadata'],
    );
  const output = SHAPES[kind]({ block, fields, top, input });
  if (takesFiles(kind)) takeFiles(output, top);
  if (withMetadata) output.set('metadata', metadata());
  return Object.fromEntries(output);
}

/** Names of the start's fields whose values are files: those of the type `file[]`, and `files`. */
export function fileFields(block: BlockConfig): string[] {
  const declared = inputFields(authored(block.params['inputFormat']));
  const names = declared.filter(({ type }) => type === 'file[]').map(({ name }) => name);
  if (takesFiles(kindOf(block)) && !declared.some(({ name }) => name === 'files')) names.push('files');
  return [...new Set(names)];
}

function takesFiles(kind: Kind): boolean {
  return kind !== 'external' && kind !== 'manual';
}

function wrap(input: Json): JsonObject {
  return input === null || input === '' ? {} : { input };
}

function kindOf(block: BlockConfig): Kind {
  switch (block.type) {
    case 'start_trigger':
      return 'unified';
    case 'api_trigger':
    case 'input_trigger':
      return 'api';
    case 'chat_trigger':
      return 'chat';
    case 'manual_trigger':
      return 'manual';
    case 'starter':
      return authored(block.params['startWorkflow']) === 'chat' ? 'chat' : 'api';
    default:
      return 'external';
  }
}

/** Fields, then every other key of the input; an empty `input` is none. */
function unifiedOutput({ fields, top }: Start): Map<string, Json> {
  const nested = own(top, 'input');
  const output = fillFields(fields, top, nested);
  const declared = new Set(fields.map((field) => field.name));
  for (const [key, value] of Object.entries(top)) {
    if (!declared.has(key)) output.set(key, value);
  }
  if (nested === '' && !declared.has('input')) output.delete('input');
  return output;
}

/** Fields at the top and again under `input`; without fields only `input`. */
function apiOutput({ fields, top, input }: Start): Map<string, Json> {
  const nested = own(top, 'input');
  if (fields.length === 0) return new Map([['input', nested ?? input]]);
  const filled = fillFields(fields, top, nested);
  return new Map([...filled, ['input', Object.fromEntries(filled)]]);
}

function chatOutput({ top }: Start): Map<string, Json> {
  const output = new Map<string, Json>();
  for (const key of ['input', 'conversationId']) {
    const value = own(top, key);
    if (value !== undefined && value !== null) output.set(key, value);
  }
  return output;
}

function namesOf(kind: Kind, top: JsonObject): string[] {
  const nested = kind === 'api' ? own(top, 'input') : undefined;
  return [...Object.keys(top), ...(isJsonObject(nested) ? Object.keys(nested) : [])];
}

function refuseReserved(block: BlockConfig, names: readonly string[], reserved: readonly string[]): void {
  const used = reserved.filter((name) => names.includes(name));
  if (used.length === 0) return;
  throw new EngineError(
    'INPUT_INVALID',
    `The start block "${block.name}" cannot take ${used.map((name) => `"${name}"`).join(', ')}: the engine uses ` +
      `${used.length === 1 ? 'this name' : 'these names'} itself. Rename the field.`,
    { details: { blockId: block.id, names: used } },
  );
}

function takeFiles(output: Map<string, Json>, top: JsonObject): void {
  const files = normalizeFiles(own(top, 'files'));
  if (files !== undefined) output.set('files', files);
  else if (Object.hasOwn(top, 'files')) output.delete('files');
}
