import { BlockError } from '../errors.ts';
import { isJsonObject, parseIfJson, parseJson, type Json, type JsonObject } from '../json.ts';
import type { Lookup } from './lookup.ts';
import { partText, resolveTemplate } from './resolve.ts';
import type { Template, TextPart } from './template.ts';

/** A reference or a placeholder in authored text. */
type Hole = Exclude<TextPart, string>;

/** Authored text that is JSON if its holes stand for values. */
interface JsonText {
  parts: readonly TextPart[];
  /** For each part: true for a hole inside a string literal. */
  quotedFlags: readonly boolean[];
  /** The parsed text. Marks replace the holes; a hole outside literals becomes a separate string. */
  value: Json;
  /** Delimiter of the marks. It does not occur elsewhere in `value`. */
  mark: string;
}

/**
 * Returns the value of a field that its block reads as JSON.
 *
 * Authored text is JSON with holes: references and placeholders. A hole inside a string literal becomes the text of its
 * value. A bare hole (outside string literals) becomes the value itself, or null if it is empty. So no value can end a
 * string or add a field. A field that is exactly one hole becomes its value, with JSON text parsed. Text that is not
 * JSON, whatever the values of its holes, stays text. Lists and objects are resolved in `mode`.
 *
 * Throws BlockError BLOCK_CONFIG_INVALID if a value results in a duplicate key.
 */
export function resolveJson(template: Template, lookup: Lookup, mode: 'text' | 'native' = 'native'): Json {
  const structure = jsonStructure(template, lookup);
  return resolveTemplate(structure, lookup, template.kind === 'text' ? 'json' : mode);
}

/**
 * Returns the text of a field as `resolveJson` reads it, with the authored numbers, white space and key order.
 * Undefined for text that is not JSON, for a field that is exactly one hole, and for a field that is not text with
 * holes.
 */
export function fillJsonText(template: Template, lookup: Lookup): string | undefined {
  const jsonText =
    template.kind === 'text' && !findSingleHole(template) ? readJsonText(template.parts) : undefined;
  if (jsonText === undefined) return undefined;
  // Also throws for duplicate keys.
  structureOf(jsonText.value, jsonText, lookup);
  const filledParts = jsonText.parts.map((part, index) => {
    if (typeof part === 'string') return part;
    return jsonText.quotedFlags[index] === true
      ? JSON.stringify(partText(part, lookup)).slice(1, -1)
      : bareText(part, lookup);
  });
  return filledParts.join('');
}

/** Returns true if the field is JSON for all values, or exactly one reference or placeholder. */
export function isJsonText(template: Template): boolean {
  if (template.kind === 'literal')
    return typeof template.value !== 'string' || parseJson(template.value) !== undefined;
  if (template.kind !== 'text' || findSingleHole(template) !== undefined) return true;
  return readJsonText(template.parts) !== undefined;
}

/**
 * Returns the single hole that makes up the field, without surrounding white space; undefined if the field is anything
 * else.
 */
export function findSingleHole(template: Template): (Template & { kind: 'text' }) | undefined {
  if (template.kind !== 'text') return undefined;
  const contentParts = template.parts.filter((part) => typeof part !== 'string' || part.trim() !== '');
  const [hole] = contentParts;
  return contentParts.length === 1 && hole !== undefined && typeof hole !== 'string'
    ? { kind: 'text', parts: [hole] }
    : undefined;
}

/**
 * Returns a field that its block reads as JSON, as a template with resolved keys. JSON text is parsed as in
 * `resolveJson`. A field that is exactly one hole is a literal with its value. The result for JSON text has to be
 * resolved in mode `json`: in it, a text of one part is a bare hole, and a text of several parts is a string literal.
 */
export function jsonStructure(template: Template, lookup: Lookup): Template {
  const value = findSingleHole(template) ?? template;
  if (value.kind === 'literal' || value !== template)
    return { kind: 'literal', value: parseIfJson(resolveTemplate(value, lookup, 'native')) };
  if (template.kind !== 'text') return template;
  const jsonText = readJsonText(template.parts);
  return jsonText
    ? structureOf(jsonText.value, jsonText, lookup)
    : { kind: 'literal', value: resolveTemplate(template, lookup, 'text') };
}

/** Returns the items of a list as templates; undefined if it is not a list. */
export function templateItems(template: Template): Template[] | undefined {
  if (template.kind === 'list') return template.items;
  if (template.kind !== 'literal' || !Array.isArray(template.value)) return undefined;
  return template.value.map((value) => ({ kind: 'literal', value }));
}

/** Returns the fields of an object as templates by key; undefined if it is not an object. */
export function templateFields(template: Template): Map<string, Template> | undefined {
  if (template.kind === 'object') return new Map(template.entries);
  if (template.kind !== 'literal' || !isJsonObject(template.value)) return undefined;
  return new Map(Object.entries(template.value).map(([key, value]) => [key, { kind: 'literal', value }]));
}

function readJsonText(parts: readonly TextPart[]): JsonText | undefined {
  const mark = unusedCharacter(parts);
  if (mark === undefined) return undefined;
  const quotedFlags: boolean[] = [];
  let isInString = false;
  let markedText = '';
  for (const [index, part] of parts.entries()) {
    quotedFlags.push(isInString);
    if (typeof part === 'string') {
      markedText += part;
      isInString = endsInString(part, isInString);
    } else if (isInString) markedText += `${mark}${index}${mark}`;
    else if (beginsWithColon(parts[index + 1])) return undefined;
    else markedText += `"${mark}${mark}${index}${mark}"`;
  }
  // A mark is not JSON after a backslash or in \u…, so no value can become part of an escape.
  const value = parseJson(markedText);
  return value === undefined ? undefined : { parts, quotedFlags, value, mark };
}

/** Returns true if a bare hole before `next` is in the position of a key, where JSON allows only a string literal. */
function beginsWithColon(next: TextPart | undefined): boolean {
  return typeof next === 'string' && next.trimStart().startsWith(':');
}

/** Returns true if a string literal is open after `text`. */
function endsInString(text: string, isInString: boolean): boolean {
  let isOpen = isInString;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '"') isOpen = !isOpen;
    else if (character === '\\' && isOpen) index++;
  }
  return isOpen;
}

/** Returns a private use character that the authored text does not contain, either literally or as an escape. */
function unusedCharacter(parts: readonly TextPart[]): string | undefined {
  const usedCodes = new Set<number>();
  for (const part of parts) {
    if (typeof part !== 'string') continue;
    for (const [character, escapeDigits] of part.matchAll(/[\uE000-\uF8FF]|\\u([ef][0-9a-f]{3})/gi))
      usedCodes.add(escapeDigits === undefined ? character.charCodeAt(0) : Number.parseInt(escapeDigits, 16));
  }
  for (let code = 0xe000; code <= 0xf8ff; code++) if (!usedCodes.has(code)) return String.fromCharCode(code);
  return undefined;
}

/** Returns the template of a part of the parsed text, with marks replaced by their holes. */
function structureOf(value: Json, jsonText: JsonText, lookup: Lookup): Template {
  if (typeof value === 'string') return textTemplate(value, jsonText);
  if (Array.isArray(value))
    return { kind: 'list', items: value.map((item) => structureOf(item, jsonText, lookup)) };
  if (typeof value !== 'object' || value === null) return { kind: 'literal', value };
  return { kind: 'object', entries: entriesOf(value, jsonText, lookup) };
}

function entriesOf(value: JsonObject, jsonText: JsonText, lookup: Lookup): [string, Template][] {
  const keys = new Set<string>();
  return Object.entries(value).map(([authoredKey, item]) => {
    const key = partsOf(authoredKey, jsonText)
      .map((part) => partText(part, lookup))
      .join('');
    // Keys that the author wrote twice are already merged, so a duplicate comes from a value.
    if (keys.has(key)) throw duplicateKeyError();
    keys.add(key);
    return [key, structureOf(item, jsonText, lookup)];
  });
}

function duplicateKeyError(): BlockError {
  return new BlockError(
    'BLOCK_CONFIG_INVALID',
    'A reference in a key of a JSON field results in a key that its object already has. Keep keys that come from data in a separate object.',
    { retryable: false },
  );
}

function textTemplate(text: string, { parts, mark }: JsonText): Template {
  const hole = text.startsWith(mark + mark) ? parts[Number(text.slice(2, -1))] : undefined;
  if (hole !== undefined) return { kind: 'text', parts: [hole] };
  const textParts = partsOf(text, { parts, mark });
  if (textParts.every((part) => typeof part === 'string')) return { kind: 'literal', value: text };
  // An empty string next to a hole that fills a whole literal distinguishes the hole from a bare one.
  return { kind: 'text', parts: textParts.length === 1 ? ['', ...textParts] : textParts };
}

/** Returns a string of the parsed text with its marks replaced by holes. */
function partsOf(text: string, { parts, mark }: Pick<JsonText, 'parts' | 'mark'>): TextPart[] {
  return text
    .split(mark)
    .map((textOrIndex, index) => (index % 2 === 1 ? (parts[Number(textOrIndex)] ?? '') : textOrIndex))
    .filter((part) => part !== '');
}

/** Returns the JSON text of a bare hole's value. */
function bareText(hole: Hole, lookup: Lookup): string {
  return JSON.stringify(resolveTemplate({ kind: 'text', parts: [hole] }, lookup, 'json'));
}
