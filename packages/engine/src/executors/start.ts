import { EngineError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { BlockConfig, Json, JsonObject } from '@heddle/core/blocks';
import { authoredValue, inputFields } from '@heddle/core/fields';
import type { InputField } from '@heddle/core/fields';
import { fillFields } from './input-format.ts';
import { isOn } from './values.ts';

/** Names with a meaning for the engine in block outputs: inputs and fields with these names would be ambiguous. */
const RESERVED_NAMES: readonly string[] = ['error', 'selectedOption', 'selectedRoute', '_pauseMetadata'];

type StartKind = 'unified' | 'api' | 'chat' | 'manual' | 'external';

interface StartContext {
  block: BlockConfig;
  fields: readonly InputField[];
  /** The input if it is an object, otherwise `{ input }`. */
  inputObject: JsonObject;
  input: Json;
}

const OUTPUT_BUILDERS: { [K in StartKind]: (start: StartContext) => Map<string, Json> } = {
  unified: unifiedOutput,
  api: apiOutput,
  chat: chatOutput,
  manual: ({ inputObject }) => new Map(Object.entries(inputObject)),
  external: ({ fields, inputObject }) =>
    new Map([...Object.entries(inputObject), ...fillFields(fields, inputObject, undefined)]),
};

/**
 * Returns the output of a start block for the input of a run.
 *
 * `metadata` returns data about the run, which becomes `metadata` of the output if `runMetadata` of the block is on.
 * Throws INPUT_INVALID if the input, or the input format of the block, uses a reserved name, and for an invalid file.
 */
export function startOutput(block: BlockConfig, input: Json, metadata = (): JsonObject => ({})): JsonObject {
  const kind = kindOf(block);
  const fields = inputFields(authoredValue(block.params['inputFormat']));
  const inputObject = isJsonObject(input) ? input : wrapInput(input);
  const hasMetadata = isOn(authoredValue(block.params['runMetadata']));
  if (kind !== 'chat')
    refuseReservedNames(
      block,
      [...fields.map((field) => field.name), ...inputNames(kind, inputObject)],
      RESERVED_NAMES,
    );
  if (hasMetadata)
    refuseReservedNames(
      block,
      fields.map((field) => field.name),
      ['metadata'],
    );
  const output = OUTPUT_BUILDERS[kind]({ block, fields, inputObject, input });
  if (acceptsFiles(kind)) setFiles(output, inputObject);
  if (hasMetadata) output.set('metadata', metadata());
  return Object.fromEntries(output);
}

/** Returns the names of the start block's fields that can contain files: those of the type `file[]`, and `files`. */
export function fileFields(block: BlockConfig): string[] {
  const declaredFields = inputFields(authoredValue(block.params['inputFormat']));
  const names = declaredFields.filter(({ type }) => type === 'file[]').map(({ name }) => name);
  if (acceptsFiles(kindOf(block)) && !declaredFields.some(({ name }) => name === 'files'))
    names.push('files');
  return [...new Set(names)];
}

function acceptsFiles(kind: StartKind): boolean {
  return kind !== 'external' && kind !== 'manual';
}

function wrapInput(input: Json): JsonObject {
  return input === null || input === '' ? {} : { input };
}

function kindOf(block: BlockConfig): StartKind {
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
      return authoredValue(block.params['startWorkflow']) === 'chat' ? 'chat' : 'api';
    default:
      return 'external';
  }
}

/** Returns the declared fields, then all other keys of the input. Drops an empty `input`. */
function unifiedOutput({ fields, inputObject }: StartContext): Map<string, Json> {
  const nestedInput = getOwn(inputObject, 'input');
  const output = fillFields(fields, inputObject, nestedInput);
  const declaredNames = new Set(fields.map((field) => field.name));
  for (const [key, value] of Object.entries(inputObject)) {
    if (!declaredNames.has(key)) output.set(key, value);
  }
  if (nestedInput === '' && !declaredNames.has('input')) output.delete('input');
  return output;
}

/** Returns the declared fields, at the top level and in `input`; without declared fields, only `input`. */
function apiOutput({ fields, inputObject, input }: StartContext): Map<string, Json> {
  const nestedInput = getOwn(inputObject, 'input');
  if (fields.length === 0) return new Map([['input', nestedInput ?? input]]);
  const filledFields = fillFields(fields, inputObject, nestedInput);
  return new Map([...filledFields, ['input', Object.fromEntries(filledFields)]]);
}

function chatOutput({ inputObject }: StartContext): Map<string, Json> {
  const output = new Map<string, Json>();
  for (const key of ['input', 'conversationId']) {
    const value = getOwn(inputObject, key);
    if (value !== undefined && value !== null) output.set(key, value);
  }
  return output;
}

function inputNames(kind: StartKind, inputObject: JsonObject): string[] {
  const nestedInput = kind === 'api' ? getOwn(inputObject, 'input') : undefined;
  return [...Object.keys(inputObject), ...(isJsonObject(nestedInput) ? Object.keys(nestedInput) : [])];
}

function refuseReservedNames(
  block: BlockConfig,
  names: readonly string[],
  reservedNames: readonly string[],
): void {
  const usedNames = reservedNames.filter((name) => names.includes(name));
  if (usedNames.length === 0) return;
  throw new EngineError(
    'INPUT_INVALID',
    `The start block "${block.name}" cannot accept ${usedNames.map((name) => `"${name}"`).join(', ')}: the engine uses ` +
      `${usedNames.length === 1 ? 'this name' : 'these names'} itself. Rename the field.`,
    { details: { blockId: block.id, names: usedNames } },
  );
}

function setFiles(output: Map<string, Json>, inputObject: JsonObject): void {
  const files = normalizeFiles(getOwn(inputObject, 'files'));
  if (files !== undefined) output.set('files', files);
  else if (Object.hasOwn(inputObject, 'files')) output.delete('files');
}

/**
 * Returns the files of an input as a list of objects with a name: a single object becomes a list, a URL becomes `{name,
 * url}`. Undefined if there are none. Throws INPUT_INVALID for other values.
 */
function normalizeFiles(files: Json | undefined): JsonObject[] | undefined {
  if (files === undefined || files === null || files === '') return undefined;
  const list = Array.isArray(files) ? files : [files];
  return list.map((file, index) => normalizeFile(file, index));
}

function normalizeFile(file: Json, index: number): JsonObject {
  if (typeof file === 'string' && URL.canParse(file)) return { name: fileNameOf(file), url: file };
  if (!isJsonObject(file)) {
    throw new EngineError(
      'INPUT_INVALID',
      `files[${index}] of the input is not a file: pass an object with a name, or a URL.`,
    );
  }
  const name = getOwn(file, 'name');
  if (typeof name === 'string' && name !== '') return file;
  const url = getOwn(file, 'url');
  if (typeof url === 'string' && url !== '') return { ...file, name: fileNameOf(url) };
  throw new EngineError('INPUT_INVALID', `files[${index}] of the input has neither a name nor a url.`);
}

function fileNameOf(url: string): string {
  const segments = (url.split(/[?#]/, 1)[0] ?? '').split('/');
  return decode(segments.at(-1) ?? '') || 'file';
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
