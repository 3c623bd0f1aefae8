import { BlockError, isJsonObject, getOwn, resolveTemplate } from '@heddle/core/blocks';
import type { Json, JsonObject, Lookup, Template } from '@heddle/core/blocks';
import {
  isJsonText,
  jsonStructure,
  parseJson,
  resolveJson,
  templateFields,
  templateItems,
  findSingleHole,
} from '@heddle/core/fields';
import type { FieldContext } from './services.ts';
import { asText } from './values.ts';

/** Reads the entries `{name, type, value}` of a builder. Converts the values to their types. */
export function readBuilder(template: Template, { lookup }: FieldContext): Json {
  const structure = jsonStructure(template, lookup);
  const entries = templateItems(structure);
  return entries ? readEntries(entries, lookup) : resolveTemplate(structure, lookup, 'json');
}

/** Returns the object of the entries. Omits entries without a name. */
export function buildObject(entries: readonly Json[]): JsonObject {
  const valuesByName = new Map<string, Json>();
  for (const entry of entries) {
    const name = isJsonObject(entry) ? asText(getOwn(entry, 'name')).trim() : '';
    if (isJsonObject(entry) && name !== '') valuesByName.set(name, getOwn(entry, 'value') ?? null);
  }
  return Object.fromEntries(valuesByName);
}

/**
 * Reads the entries of a builder. Throws BLOCK_CONFIG_INVALID if two entries have the same name, and at least one of
 * the names contains a reference.
 */
function readEntries(entries: readonly Template[], lookup: Lookup): JsonObject[] {
  /** By name of an entry: true if the name contains no references. */
  const isAuthoredByName = new Map<string, boolean>();
  return entries.flatMap((entry) => {
    const result = readEntry(entry, lookup);
    if (result === undefined) return [];
    const name = asText(getOwn(result, 'name')).trim();
    const isAuthored = templateFields(entry)?.get('name')?.kind !== 'text';
    if (name !== '' && isAuthoredByName.has(name) && !(isAuthored && isAuthoredByName.get(name) === true))
      throw duplicateNameError();
    isAuthoredByName.set(name, isAuthored);
    return [result];
  });
}

function duplicateNameError(): BlockError {
  return new BlockError(
    'BLOCK_CONFIG_INVALID',
    'A reference in the name of a field resolves to the name of another field. Put fields whose names come from data into a separate object.',
    { retryable: false },
  );
}

function readEntry(entry: Template, lookup: Lookup): JsonObject | undefined {
  const fields = templateFields(entry);
  if (fields === undefined) return undefined;
  const [name, type] = ['name', 'type'].map((key) => {
    const field = fields.get(key);
    return field === undefined ? '' : asText(resolveTemplate(field, lookup, 'text'));
  }) as [string, string];
  const value = fields.get('value');
  return { name, type, value: value === undefined ? null : entryValue(type, value, lookup) };
}

function entryValue(type: string, value: Template, lookup: Lookup): Json {
  const items = templateItems(value);
  switch (type) {
    case 'object':
      return items ? buildObject(readEntries(items, lookup)) : structuredValue(value, lookup);
    case 'array':
    case 'files':
    case 'file[]':
      return items ? items.map((item) => itemValue(item, lookup)) : structuredValue(value, lookup);
    case 'number':
      return toNumber(resolveTemplate(value, lookup, 'native'));
    case 'boolean':
      return toBoolean(resolveTemplate(value, lookup, 'native'));
    default:
      return textValue(value, lookup);
  }
}

/** Reads an item of a list: an entry, or a plain value. */
function itemValue(item: Template, lookup: Lookup): Json {
  const fields = templateFields(item);
  const entry = fields?.has('type') && fields.has('value') ? readEntry(item, lookup) : undefined;
  return entry ? (getOwn(entry, 'value') ?? null) : textValue(item, lookup);
}

function toNumber(value: Json): Json {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return Number.isNaN(number) ? value : number;
}

function toBoolean(value: Json): Json {
  if (value === 'true') return true;
  return value === 'false' ? false : value;
}

/** Reads the value of a field that is declared as object or list: text is parsed as JSON. */
function structuredValue(value: Template, lookup: Lookup): Json {
  return value.kind === 'literal' ? parseStrings(value.value) : resolveJson(value, lookup);
}

/**
 * Reads the value of a field of any other type, or a plain item of a list. Authored text that is a JSON object or list,
 * and a reference to an object or list, become an object or list. Text from a reference stays text.
 */
function textValue(value: Template, lookup: Lookup): Json {
  switch (value.kind) {
    case 'literal':
      return parseStrings(value.value);
    case 'list':
      return value.items.map((item) => textValue(item, lookup));
    case 'object':
      return Object.fromEntries(value.entries.map(([key, item]) => [key, textValue(item, lookup)]));
    case 'text':
      return resolveAuthoredText(value, lookup);
  }
}

function resolveAuthoredText(value: Template & { kind: 'text' }, lookup: Lookup): Json {
  const singleHole = findSingleHole(value);
  if (singleHole) {
    const resolvedValue = resolveTemplate(singleHole, lookup, 'native');
    if (typeof resolvedValue === 'object' && resolvedValue !== null) return resolvedValue;
  } else if (looksLikeJson(value.parts[0]) && isJsonText(value)) return resolveJson(value, lookup);
  return resolveTemplate(value, lookup, 'text');
}

/** Parses authored strings that are JSON objects or lists, at any depth. */
function parseStrings(value: Json): Json {
  if (typeof value === 'string') {
    const parsed = looksLikeJson(value) ? parseJson(value) : undefined;
    return parsed === undefined ? value : parseStrings(parsed);
  }
  if (Array.isArray(value)) return value.map((item) => parseStrings(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, parseStrings(item)]));
}

function looksLikeJson(text: unknown): boolean {
  return typeof text === 'string' && /^\s*[[{]/.test(text);
}
