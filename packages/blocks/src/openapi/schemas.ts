import { createHash } from 'node:crypto';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { UnsupportedDocumentError, valueAt } from './document.ts';
import type { OpenApiDocument } from './document.ts';

const MAX_TEXT_CHARS = 2000;
/** Maximum number of characters of a title, a format or a pattern. */
const MAX_SHORT_TEXT_CHARS = 200;

/** Returns a schema that allows any value, with the reason. */
const anyValueSchema = (problem: string): JsonObject => ({
  description: `Any value: its schema ${problem}.`,
});

/**
 * Converts schemas of a document to JSON Schema 2020-12. Each schema that they refer to is converted once, into `defs`,
 * so that circular references stay references. The result is valid for any document: a part that cannot be read allows
 * any value.
 */
export class SchemaConverter {
  readonly defs: JsonObject = {};
  readonly #document: OpenApiDocument;
  /** Names in `defs` by reference. */
  readonly #names = new Map<string, string>();
  readonly #queue: [name: string, value: Json][] = [];

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** Returns the converted schema. Its references point to `defs`. */
  convert(schema: Json | undefined): JsonObject {
    const convertedSchema = this.#convertSchema(schema ?? {});
    for (let next = this.#queue.pop(); next; next = this.#queue.pop()) {
      const [name, value] = next;
      this.defs[name] = this.#convertSchema(value);
    }
    return convertedSchema;
  }

  #convertSchema(schema: Json): JsonObject {
    // A false schema matches no value.
    if (schema === false) return { not: {} };
    if (!isJsonObject(schema)) return {};
    const reference = getOwn(schema, '$ref');
    if (typeof reference === 'string') return withNull(schema, this.#convertReference(reference, schema));
    const convertedSchema: JsonObject = {};
    for (const [keyword, convertKeyword] of KEYWORDS) {
      const value = getOwn(schema, keyword);
      const result = value === undefined ? undefined : convertKeyword(value, this.#convertInner, schema);
      if (result !== undefined) convertedSchema[keyword] = result;
    }
    return withNull(schema, withBounds(schema, convertedSchema));
  }

  readonly #convertInner = (schema: Json): JsonObject => this.#convertSchema(schema);

  #convertReference(reference: string, schema: JsonObject): JsonObject {
    try {
      const name = this.#names.get(reference) ?? this.#define(reference);
      const description = text(MAX_TEXT_CHARS)(getOwn(schema, 'description') ?? null);
      return { $ref: `#/$defs/${name}`, ...(description !== undefined && { description }) };
    } catch (error) {
      if (error instanceof UnsupportedDocumentError) return anyValueSchema(error.message);
      throw error;
    }
  }

  #define(reference: string): string {
    const value = valueAt(this.#document, reference);
    const lastToken = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/[^A-Za-z0-9_]+/g, '_');
    const shortName = lastToken.slice(0, 60);
    const needsDigest =
      shortName !== lastToken ||
      shortName === '' ||
      shortName === '__proto__' ||
      Object.hasOwn(this.defs, shortName);
    const name = needsDigest ? `${shortName.replaceAll('__proto__', '')}_${digestOf(reference)}` : shortName;
    this.#names.set(reference, name);
    this.defs[name] = {};
    this.#queue.push([name, value]);
    return name;
  }
}

/** Returns the first eight hexadecimal digits of the SHA-256 digest of the text. */
export function digestOf(source: string): string {
  return createHash('sha256').update(source).digest('hex').slice(0, 8);
}

/** Converts a schema inside another schema. */
type ConvertInner = (schema: Json) => JsonObject;
/** Returns the value of a keyword in JSON Schema; undefined omits the keyword. */
type KeywordConverter = (value: Json, convertInner: ConvertInner, schema: JsonObject) => Json | undefined;

const TYPES: ReadonlySet<Json> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
]);

const text =
  (max: number) =>
  (value: Json): string | undefined => {
    if (typeof value !== 'string' || value.trim() === '') return undefined;
    const trimmed = value.trim();
    return trimmed.length > max ? `${trimmed.slice(0, max).toWellFormed()}…` : trimmed;
  };
const shortText: KeywordConverter = (value) =>
  typeof value === 'string' && value.length <= MAX_SHORT_TEXT_CHARS ? value : undefined;
const number: KeywordConverter = (value) => (typeof value === 'number' ? value : undefined);
const nonNegativeInteger: KeywordConverter = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined;
const flag: KeywordConverter = (value) => (value === true ? true : undefined);
/** Maximum number of levels of a value in a schema, such as a default. */
const MAX_DATA_LEVELS = 3;
const isShallow = (value: Json, levels = MAX_DATA_LEVELS): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((item) => isShallow(item, levels - 1)));
const data: KeywordConverter = (value) => (isShallow(value) ? value : undefined);
const subschema: KeywordConverter = (value, convertInner) => convertInner(value);
const subschemas: KeywordConverter = (value, convertInner) =>
  Array.isArray(value) && value.length > 0 ? value.map(convertInner) : undefined;

/**
 * The keywords that are kept, in this order. Others are for documentation, XML or responses, or would change
 * references.
 */
const KEYWORDS: ReadonlyMap<string, KeywordConverter> = new Map(
  Object.entries<KeywordConverter>({
    title: text(MAX_SHORT_TEXT_CHARS),
    description: text(MAX_TEXT_CHARS),
    type: (value) => {
      const types = [value].flat().filter((type) => TYPES.has(type));
      return types.length > 1 ? types : types[0];
    },
    format: shortText,
    contentMediaType: shortText,
    contentEncoding: shortText,
    enum: (value) => (Array.isArray(value) && value.length > 0 && isShallow(value) ? value : undefined),
    const: data,
    default: data,
    properties: (value, convertInner) =>
      isJsonObject(value)
        ? Object.fromEntries(
            Object.entries(value)
              .filter(([, schema]) => !isReadOnly(schema))
              .map(([name, schema]) => [name, convertInner(schema)]),
          )
        : undefined,
    required: (value, _convertInner, schema) => {
      const names = namesOf(value).filter((name) => !isReadOnly(propertyOf(schema, name)));
      return names.length > 0 ? [...new Set(names)] : undefined;
    },
    patternProperties: (value, convertInner) =>
      isJsonObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([pattern, schema]) => [pattern, convertInner(schema)]),
          )
        : undefined,
    additionalProperties: (value, convertInner) =>
      value === false ? false : isJsonObject(value) ? convertInner(value) : undefined,
    items: (value, convertInner) => (Array.isArray(value) ? undefined : convertInner(value)),
    prefixItems: subschemas,
    allOf: subschemas,
    anyOf: subschemas,
    oneOf: subschemas,
    ...Object.fromEntries(['not', 'if', 'then', 'else'].map((keyword) => [keyword, subschema])),
    multipleOf: (value) => (typeof value === 'number' && value > 0 ? value : undefined),
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    minLength: nonNegativeInteger,
    maxLength: nonNegativeInteger,
    pattern: shortText,
    minItems: nonNegativeInteger,
    maxItems: nonNegativeInteger,
    minProperties: nonNegativeInteger,
    maxProperties: nonNegativeInteger,
    deprecated: flag,
  }),
);

function namesOf(value: Json): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}

function propertyOf(schema: JsonObject, name: string): Json | undefined {
  const properties = getOwn(schema, 'properties');
  return isJsonObject(properties) ? getOwn(properties, name) : undefined;
}

/** True for a property that only servers set. */
function isReadOnly(schema: Json | undefined): boolean {
  return isJsonObject(schema) && getOwn(schema, 'readOnly') === true;
}

/** Converts exclusive bounds of OpenAPI 3.0, in which `exclusiveMinimum: true` makes `minimum` exclusive. */
function withBounds(schema: JsonObject, convertedSchema: JsonObject): JsonObject {
  const boundedSchema = { ...convertedSchema };
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (getOwn(schema, exclusive) !== true || boundedSchema[bound] === undefined) continue;
    boundedSchema[exclusive] = boundedSchema[bound];
    delete boundedSchema[bound];
  }
  return boundedSchema;
}

/** Allows null if the schema has `nullable: true`, as in OpenAPI 3.0. */
function withNull(schema: JsonObject, convertedSchema: JsonObject): JsonObject {
  if (getOwn(schema, 'nullable') !== true) return convertedSchema;
  const { type, enum: values, description, ...others } = convertedSchema;
  const annotations = description === undefined ? {} : { description };
  if (type === undefined) {
    const allowsAnyValue = Object.keys(others).length === 0 && values === undefined;
    if (allowsAnyValue) return convertedSchema;
    return {
      ...annotations,
      anyOf: [{ ...others, ...(values !== undefined && { enum: values }) }, { type: 'null' }],
    };
  }
  const types = [type].flat();
  return {
    ...annotations,
    type: types.includes('null') ? types : [...types, 'null'],
    ...(Array.isArray(values) && { enum: values.includes(null) ? values : [...values, null] }),
    ...others,
  };
}

/** The part of the schemas that is kept. */
interface DetailLevel {
  /** Maximum number of references that are followed, one after the other, from the arguments. */
  maxHops: number;
  /** Maximum number of levels of JSON in each schema. */
  maxLevels: number;
  keepsDescriptions: boolean;
}

/** From complete to coarse. The first one that makes the schema small enough is used. */
const DETAIL_LEVELS: readonly DetailLevel[] = [
  { maxHops: 1000, maxLevels: 28, keepsDescriptions: true },
  { maxHops: 1000, maxLevels: 28, keepsDescriptions: false },
  { maxHops: 4, maxLevels: 20, keepsDescriptions: true },
  { maxHops: 2, maxLevels: 16, keepsDescriptions: false },
  { maxHops: 1, maxLevels: 12, keepsDescriptions: false },
  { maxHops: 0, maxLevels: 10, keepsDescriptions: false },
  { maxHops: 0, maxLevels: 6, keepsDescriptions: false },
  { maxHops: 0, maxLevels: 4, keepsDescriptions: false },
];

const TOO_LARGE = anyValueSchema('is too large to show');

/**
 * Returns the schema with the definitions that it needs, in at most `maxChars` characters of JSON. If it is larger,
 * inner descriptions and the innermost schemas are omitted, and `isComplete` is false. Undefined if it is still too
 * large.
 */
export function bundleSchema(
  schema: JsonObject,
  defs: JsonObject,
  maxChars: number,
): { schema: JsonObject; isComplete: boolean } | undefined {
  for (const [index, detail] of DETAIL_LEVELS.entries()) {
    const result = bundleAtDetailLevel(schema, { defs, maxChars, detail });
    if (result) return { schema: result.schema, isComplete: index === 0 && !result.isTruncated };
  }
  return undefined;
}

interface BundleOptions {
  defs: JsonObject;
  maxChars: number;
  detail: DetailLevel;
}

function bundleAtDetailLevel(
  schema: JsonObject,
  { defs, maxChars, detail }: BundleOptions,
): { schema: JsonObject; isTruncated: boolean } | undefined {
  const converter = new BoundedSchemaConverter(detail, maxChars);
  try {
    const root = converter.copySchema(schema, 0) as JsonObject;
    const usedDefs: JsonObject = {};
    // The loop also visits the names that `copySchema` adds to the map: it is a breadth-first search.
    for (const [name, hop] of converter.hopsByName) {
      const def = hop > detail.maxHops ? TOO_LARGE : (getOwn(defs, name) ?? anyValueSchema('is missing'));
      usedDefs[name] = converter.copySchema(def, 2, { name, hop });
      if (def === TOO_LARGE) converter.isTruncated = true;
    }
    return {
      schema: { ...root, ...(converter.hopsByName.size > 0 && { $defs: usedDefs }) },
      isTruncated: converter.isTruncated,
    };
  } catch (error) {
    if (error instanceof OverflowError) return undefined;
    throw error;
  }
}

/** Thrown for a schema with more characters than allowed. */
class OverflowError extends Error {}

/** Keywords whose value is data, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'required']);

/**
 * Copies schemas up to a level of detail and a number of characters. Throws `OverflowError` when there are more, so
 * that the work is bounded.
 */
class BoundedSchemaConverter {
  /** Names of definitions with the number of references that lead there, in the order in which they are found. */
  readonly hopsByName = new Map<string, number>();
  isTruncated = false;
  readonly #detail: DetailLevel;
  #remainingChars: number;
  #hop = 0;

  constructor(detail: DetailLevel, maxChars: number) {
    this.#detail = detail;
    this.#remainingChars = maxChars;
  }

  /** Returns a copy of a schema. Throws OverflowError. */
  copySchema(schema: Json, level: number, def?: { name: string; hop: number }): Json {
    if (def) {
      this.#hop = def.hop;
      this.#spend(def.name.length + 4);
    }
    return this.#copyNested(schema, level);
  }

  /** Copies a schema, or a list of schemas. */
  #copyNested(schema: Json, level: number): Json {
    if (Array.isArray(schema)) {
      this.#spend(2);
      return schema.map((item) => this.#copyNested(item, level + 1));
    }
    if (!isJsonObject(schema)) return this.#copyData(schema);
    if (level >= this.#detail.maxLevels) return this.#truncate(schema);
    const reference = getOwn(schema, '$ref');
    if (typeof reference === 'string') this.#addRequiredDefinition(reference.slice('#/$defs/'.length));
    return this.#copyObject(schema, (keyword, value) => {
      if (keyword === 'description' && !this.#detail.keepsDescriptions && level > 2) return undefined;
      if (DATA_KEYWORDS.has(keyword)) return this.#copyData(value);
      if (keyword === 'properties' && isJsonObject(value))
        return this.#copyObject(value, (_name, property) => this.#copyNested(property, level + 2));
      return this.#copyNested(value, level + 1);
    });
  }

  #copyObject(object: JsonObject, transform: (key: string, value: Json) => Json | undefined): JsonObject {
    this.#spend(2);
    const copy: JsonObject = {};
    for (const [key, value] of Object.entries(object)) {
      const item = transform(key, value);
      if (item === undefined) continue;
      this.#spend(key.length + 4);
      copy[key] = item;
    }
    return copy;
  }

  /** Returns only the type of a schema. */
  #truncate({ type }: JsonObject): Json {
    this.isTruncated = true;
    this.#spend(30);
    return type === undefined ? {} : { type };
  }

  #copyData(value: Json): Json {
    if (Array.isArray(value)) return value.map((item) => this.#copyData(item));
    if (isJsonObject(value)) return this.#copyObject(value, (_key, item) => this.#copyData(item));
    this.#spend(typeof value === 'string' ? value.length + 3 : 6);
    return value;
  }

  #addRequiredDefinition(name: string): void {
    if (!this.hopsByName.has(name)) this.hopsByName.set(name, this.#hop + 1);
  }

  #spend(chars: number): void {
    this.#remainingChars -= chars;
    if (this.#remainingChars < 0) throw new OverflowError();
  }
}
