import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/** The serialization of a value in a request (OpenAPI, "Style Values"). */
export interface Style {
  style: string;
  explode: boolean;
}

/** An argument that cannot be sent. The message is for the caller of the tool. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/** Maximum number of levels of a value in `name[key][key]`. */
const MAX_LEVELS = 10;
/** Maximum number of pairs of one value. */
const MAX_PAIRS = 5000;

/** Returns a value as text: text unchanged, null as empty text, lists and objects as JSON. */
export function plainText(value: Json): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Returns the text, percent-encoded for any part of a URL. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("'", '%27');
}

/** Returns the text, percent-encoded for a query except for reserved characters that cannot end a parameter. */
export function percentEncodeExceptReserved(text: string): string {
  return percentEncode(text).replaceAll(/%(?:3A|2F|3F|40|24|2C|3B|5B|5D)/g, (code) =>
    decodeURIComponent(code),
  );
}

type Member = [name: string, value: Json];

/** Returns the members of an object that have a value. */
function membersOf(value: JsonObject): Member[] {
  const members = Object.entries(value).filter(([, item]) => item !== null);
  if (members.length > MAX_PAIRS) throw new ArgumentError(`has more than ${MAX_PAIRS} members`);
  return members;
}

function checkList(value: Json[]): Json[] {
  if (value.length > MAX_PAIRS) throw new ArgumentError(`has more than ${MAX_PAIRS} items`);
  return value;
}

/**
 * Returns the text of a path parameter, percent-encoded.
 *
 * Throws an ArgumentError for a value that would lead to another path.
 */
export function pathText(name: string, value: Json, { style, explode }: Style): string {
  const serializedValues = serializedValuesOf(value, explode, percentEncode);
  if (style === 'label') return `.${serializedValues.join(explode ? '.' : ',')}`;
  if (style === 'matrix') {
    if (typeof value !== 'object' || value === null || !explode) {
      const text = serializedValues.join(',');
      return text === '' ? `;${percentEncode(name)}` : `;${percentEncode(name)}=${text}`;
    }
    const matrixParameters = Array.isArray(value)
      ? serializedValues.map((serializedValue) => `${percentEncode(name)}=${serializedValue}`)
      : serializedValues;
    return matrixParameters.map((parameter) => `;${parameter}`).join('');
  }
  const text = serializedValues.join(',');
  if (text === '') throw new ArgumentError('is empty, which would lead to another path');
  return text;
}

/** Returns the text of a header. Throws an ArgumentError for characters that a header cannot have. */
export function headerText(value: Json, { explode }: Style): string {
  const text = serializedValuesOf(value, explode, (itemText) => itemText).join(',');
  // RFC 9110 §5.5: a line break would begin another header.
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
    throw new ArgumentError('has a line break or another character that a header cannot have');
  return text;
}

/** Returns the value of a cookie. */
export function cookieText(value: Json): string {
  return serializedValuesOf(value, false, percentEncode).join(',');
}

/** Returns the items of a list, the members of an object as `key=value` or as keys and values in turn, or a scalar. */
function serializedValuesOf(value: Json, explode: boolean, encode: (text: string) => string): string[] {
  if (Array.isArray(value)) return checkList(value).map((item) => encode(plainText(item)));
  if (!isJsonObject(value)) return [encode(plainText(value))];
  return membersOf(value).flatMap(([key, item]) => {
    const [name, text] = [encode(key), encode(plainText(item))];
    return explode ? [`${name}=${text}`] : [name, text];
  });
}

/** A name and a value of a query or form. `isEncoded`: the value is already encoded. */
export interface Pair {
  name: string;
  text: string;
  isEncoded: boolean;
}

/** Returns the pairs of a parameter of the query, or of a field of a form. */
export function queryPairs(name: string, value: Json, { style, explode }: Style): Pair[] {
  if (style === 'deepObject') return deepObjectPairs(name, value, []);
  if (typeof value !== 'object' || value === null) return [pair(name, value)];
  if (explode) {
    if (Array.isArray(value)) return checkList(value).map((item) => pair(name, item));
    return membersOf(value).map(([key, item]) => pair(key, item));
  }
  const separator = { spaceDelimited: '%20', pipeDelimited: '%7C' }[style] ?? ',';
  return [{ name, text: serializedValuesOf(value, false, percentEncode).join(separator), isEncoded: true }];
}

function pair(name: string, value: Json): Pair {
  return { name, text: plainText(value), isEncoded: false };
}

function deepObjectPairs(name: string, value: Json, pairs: Pair[], level = 0): Pair[] {
  if (pairs.length > MAX_PAIRS) throw new ArgumentError(`has more than ${MAX_PAIRS} members`);
  if (typeof value !== 'object' || value === null) pairs.push(pair(name, value));
  else if (level >= MAX_LEVELS) throw new ArgumentError(`is nested more than ${MAX_LEVELS} levels deep`);
  else {
    const members: Member[] = Array.isArray(value)
      ? value.map((item, index): Member => [String(index), item])
      : membersOf(value);
    for (const [key, item] of members) deepObjectPairs(`${name}[${key}]`, item, pairs, level + 1);
  }
  return pairs;
}

/** Returns pairs as the text of a query or form. */
export function queryText(
  pairs: readonly Pair[],
  encodeText: (text: string) => string = percentEncode,
): string {
  return pairs
    .map(({ name, text, isEncoded }) => `${encodeParameterName(name)}=${isEncoded ? text : encodeText(text)}`)
    .join('&');
}

/**
 * Returns the name, percent-encoded except for brackets. Servers that parse `name[key]`, such as PHP and Rails, expect
 * plain brackets.
 */
function encodeParameterName(name: string): string {
  return percentEncode(name).replaceAll(/%5B|%5D/g, (code) => decodeURIComponent(code));
}
