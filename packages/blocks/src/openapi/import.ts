import { EngineError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { compileSchema, withCheckedPatterns } from '../agent/json-schema.ts';
import { invalidDocumentError, readDocument, UnsupportedDocumentError } from './document.ts';
import type { OpenApiDocument } from './document.ts';
import type { ServiceBody, ServiceTool, ToolFile } from './file.ts';
import { MAX_TOOLS, serviceTool, TOOL_FILE_VERSION } from './file.ts';
import { argumentNames, matchesPattern, operationNames } from './names.ts';
import { isReservedHeader, listOrEmpty, objectOrEmpty, operationsOf, reasonOf } from './operations.ts';
import type { Body, Method, Operation, Parameter } from './operations.ts';
import { bundleSchema, SchemaConverter } from './schemas.ts';
import { isTextType } from './send.ts';
import { apiKeyLocations, locationOf, securityOf } from './security.ts';
import { serviceOfServer } from './servers.ts';
import type { ServerOptions } from './servers.ts';

/** Options of `importOpenApi`. */
export interface ImportOptions extends ServerOptions {
  /** The name of the service: 1 to 30 letters, digits, `_` and `-`. The ids of the tools begin with it. */
  name: string;
  /** Operations to import, by id, operationId, `METHOD /path` or `tag:NAME`, with `*` for any text. Default: all. */
  only?: readonly string[];
  /** Operations, in the form of `only`, that may be repeated even if their method is POST or PATCH. */
  idempotent?: readonly string[];
  /**
   * The header in which POST and PATCH take an idempotency key. Default: the parameter `Idempotency-Key` or
   * `X-Idempotency-Key` of an operation.
   */
  keyHeader?: string;
}

/** An operation that was skipped or whose schema was simplified, and why. */
export interface ImportNote {
  /** Method and path. */
  operation: string;
  reason: string;
}

/** The tools of a document. */
export interface ImportedTools {
  file: ToolFile;
  /** Operations that are not in the file. Operations that `only` excludes are counted in `unselected`. */
  skipped: ImportNote[];
  /** Operations whose schemas are simplified for models: inner parts accept any value, or patterns are not checked. */
  simplified: ImportNote[];
  unselected: number;
}

/** Maximum number of characters of JSON Schema that a tool may add to each model call. */
export const MAX_SCHEMA_CHARS = 30_000;
const MAX_DESCRIPTION_CHARS = 1000;
/** Responses that are not text become run files if they have more bytes than this. */
const MAX_INLINE_BYTES = 2 ** 20;

/**
 * Creates a tool for each operation of an OpenAPI document (3.0 to 3.2, or Swagger 2.0), given as parsed JSON.
 * References to other documents are not followed. The file in the result is plain data, for the option `toolFiles` of
 * `blocks`, or `--tools FILE`.
 *
 * Throws OPENAPI_INVALID, OPTIONS_INVALID.
 */
export async function importOpenApi(document: unknown, options: ImportOptions): Promise<ImportedTools> {
  if (options.keyHeader !== undefined && !isKeyHeader(options.keyHeader))
    throw new EngineError(
      'OPTIONS_INVALID',
      `"${options.keyHeader.slice(0, 100)}" is not a valid name of a header for idempotency keys, such as Idempotency-Key.`,
    );
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,29}$/.test(options.name))
    throw new EngineError(
      'OPTIONS_INVALID',
      `"${options.name.slice(0, 100)}" is not a valid name of a service: use 1 to 30 letters, digits, _ and -.`,
    );
  return new Importer(await readDocument(document), options).import();
}

function isKeyHeader(name: string): boolean {
  return /^[A-Za-z0-9-]{1,100}$/.test(name) && !isReservedHeader(name);
}

class Importer {
  readonly #document: OpenApiDocument;
  readonly #options: ImportOptions;
  readonly #schemas: SchemaConverter;
  readonly #apiKeyLocations: ReadonlySet<string>;
  /** The server of the document, or of its first operation. */
  #mainServer: JsonObject | undefined;
  readonly #services: ToolFile['services'] = {};
  readonly #skipped: ImportNote[] = [];
  readonly #simplified: ImportNote[] = [];

  constructor(document: OpenApiDocument, options: ImportOptions) {
    this.#document = document;
    this.#options = options;
    this.#schemas = new SchemaConverter(document);
    this.#apiKeyLocations = apiKeyLocations(document);
  }

  import(): ImportedTools {
    const operations: Operation[] = [];
    for (const result of operationsOf(this.#document)) {
      if ('reason' in result) this.#skipped.push({ operation: result.key, reason: result.reason });
      else operations.push(result.operation);
    }
    const names = operationNames(this.#options.name, operations);
    const [mainServer] = listOrEmpty(getOwn(this.#document.root, 'servers'));
    this.#mainServer = isJsonObject(mainServer) ? mainServer : operations[0]?.servers[0];
    const tools: ServiceTool[] = [];
    let unselected = 0;
    for (const [index, operation] of operations.entries()) {
      const id = names[index] ?? '';
      if (!isSelected(this.#options.only ?? ['*'], id, operation)) unselected++;
      else if (tools.length >= MAX_TOOLS)
        throw invalidDocumentError(`has more than ${MAX_TOOLS} operations: select some of them`);
      else tools.push(...this.#importOperation(id, operation));
    }
    return {
      file: { version: TOOL_FILE_VERSION, services: this.#services, tools, $defs: this.#usedDefs(tools) },
      skipped: this.#skipped,
      simplified: this.#simplified,
      unselected,
    };
  }

  #importOperation(id: string, operation: Operation): ServiceTool[] {
    try {
      return [checkTool(this.#toolOf(id, operation))];
    } catch (error) {
      this.#skipped.push({ operation: operation.key, reason: reasonOf(error) });
      return [];
    }
  }

  #toolOf(id: string, operation: Operation): ServiceTool {
    const { method, path, tags, responseMediaTypes } = operation;
    const { schemes, isOptional } = securityOf(this.#document, operation);
    const keyHeader = this.#keyHeaderOf(operation);
    const parameters = operation.parameters.filter(
      (parameter) => !this.#apiKeyLocations.has(locationOf(parameter)) && !isHeader(parameter, keyHeader),
    );
    const names = argumentNames([...parameters, { in: 'request', name: 'body' }]);
    const service = this.#serviceOf(operation);
    const args = this.#argumentsOf(operation, parameters, names);
    this.#checkSchema(operation, args);
    return {
      id,
      service,
      description: descriptionOf(operation),
      ...(tags.length > 0 && { tags }),
      method,
      path,
      arguments: args,
      ...(parameters.length > 0 && {
        parameters: parameters.map((parameter, index) =>
          serviceParameterOf(parameter, names[index] ?? parameter.name),
        ),
      }),
      ...(operation.body && { body: this.#bodyOf(operation.body, names.at(-1) ?? 'body') }),
      ...(responseMediaTypes.length > 0 && { accept: responseMediaTypes }),
      ...(responseMediaTypes.length > 0 &&
        !responseMediaTypes.some(isTextType) && { answer: { file: { above: MAX_INLINE_BYTES } } }),
      ...(Object.keys(schemes).length > 0 && {
        credential: { schemes, ...(isOptional && { optional: true as const }) },
      }),
      ...(keyHeader !== undefined && { keyHeader }),
      idempotent: this.#isIdempotent(id, operation),
      readOnly: isReadOnly(method),
    };
  }

  #serviceOf({ servers: [server] }: Operation): string {
    const { name, title, baseUrl } = serviceOfServer(
      this.#document,
      { server, mainServer: this.#mainServer },
      this.#options,
    );
    this.#services[name] ??= { title, ...(baseUrl !== undefined && { address: baseUrl }) };
    return name;
  }

  /** Returns the schema of the arguments: one argument for each parameter, and one for the body. */
  #argumentsOf({ body }: Operation, parameters: readonly Parameter[], names: readonly string[]): JsonObject {
    const properties: JsonObject = {};
    const required: string[] = [];
    for (const [index, parameter] of parameters.entries()) {
      const name = names[index] ?? parameter.name;
      properties[name] = withDescription(this.#schemas.convert(parameter.schema), parameter.description);
      if (parameter.required) required.push(name);
    }
    const name = names.at(-1) ?? 'body';
    if (body) {
      properties[name] = withDescription(this.#bodySchema(body), body.description);
      if (body.required) required.push(name);
    }
    return {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    };
  }

  #bodySchema(body: Body): JsonObject {
    const type = bodyTypeOf(body);
    if (type === 'binary') return { ...FILE_SCHEMA };
    if (type === 'text') return { type: 'string' };
    if (type === 'json') return this.#schemas.convert(body.schema);
    return withFiles(this.#formSchema(body), this.#formFields(body));
  }

  #bodyOf(body: Body, argument: string): ServiceBody {
    const type = bodyTypeOf(body);
    const mediaType = type === 'json' && body.mediaType === '*/*' ? 'application/json' : body.mediaType;
    if (type !== 'form' && type !== 'multipart') return { argument, type, mediaType };
    const fields = this.#formFields(body);
    return { argument, type, mediaType, ...(Object.keys(fields).length > 0 && { fields }) };
  }

  /** Returns the schema of a form. If the document's schema is not an object, the form has the single field `file`. */
  #formSchema({ schema }: Body): JsonObject {
    const convertedSchema = this.#schemas.convert(schema);
    const reference = getOwn(convertedSchema, '$ref');
    const target =
      typeof reference === 'string'
        ? getOwn(this.#schemas.defs, reference.slice('#/$defs/'.length))
        : convertedSchema;
    const type = getOwn(objectOrEmpty(target), 'type');
    if (type === undefined || [type].flat().includes('object')) return convertedSchema;
    return { type: 'object', properties: { file: { contentMediaType: 'application/octet-stream' } } };
  }

  /** Returns how the fields of a form are sent. Fields that are sent in the default way are omitted. */
  #formFields(body: Body): NonNullable<ServiceBody['fields']> {
    const { encoding } = body;
    const convertedSchema = this.#formSchema(body);
    const properties = propertiesOf(convertedSchema, this.#schemas.defs);
    const names = new Set([...Object.keys(properties), ...Object.keys(encoding)]);
    const fields = [...names].map(
      (name) => [name, fieldOf(getOwn(properties, name), getOwn(encoding, name))] as const,
    );
    return Object.fromEntries(fields.filter(([, field]) => Object.keys(field).length > 0));
  }

  /** Throws UnsupportedDocumentError for a schema that is too large for models, or cannot be checked. */
  #checkSchema(operation: Operation, schema: JsonObject): void {
    const bundle = bundleSchema(schema, this.#schemas.defs, MAX_SCHEMA_CHARS);
    if (!bundle)
      throw new UnsupportedDocumentError(
        `has arguments whose schema is larger than ${MAX_SCHEMA_CHARS} characters`,
      );
    const uncheckedPatterns: string[] = [];
    const checkedSchema = withCheckedPatterns(bundle.schema, (pattern) => uncheckedPatterns.push(pattern));
    compileSchema(
      checkedSchema,
      (problem) => new UnsupportedDocumentError(`has arguments whose schema ${problem}`),
    );
    if (uncheckedPatterns.length > 0)
      this.#simplified.push({ operation: operation.key, reason: uncheckedReason(uncheckedPatterns) });
    if (!bundle.isComplete)
      this.#simplified.push({
        operation: operation.key,
        reason: 'inner parts of its arguments accept any value',
      });
  }

  /**
   * Returns the header of the idempotency key. The engine sets the key: a model would invent a new key for each retry.
   */
  #keyHeaderOf({ method, parameters }: Operation): string | undefined {
    const declaredHeader = parameters.find(
      ({ in: location, name }) => location === 'header' && /^(?:x-)?idempotency-key$/i.test(name),
    )?.name;
    if (method !== 'POST' && method !== 'PATCH') return declaredHeader;
    return this.#options.keyHeader ?? declaredHeader;
  }

  #isIdempotent(id: string, operation: Operation): boolean {
    const { method } = operation;
    if (method !== 'POST' && method !== 'PATCH') return true;
    return isSelected(this.#options.idempotent ?? [], id, operation);
  }

  /** Returns the definitions that the tools need, in the order of their names. */
  #usedDefs(tools: readonly ServiceTool[]): ToolFile['$defs'] {
    const usedNames = new Set<string>();
    const queue: Json[] = tools.map((tool) => tool.arguments as JsonObject);
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (typeof next !== 'object' || next === null) continue;
      const reference = isJsonObject(next) ? getOwn(next, '$ref') : undefined;
      const name = typeof reference === 'string' ? reference.slice('#/$defs/'.length) : undefined;
      const def = name === undefined ? undefined : getOwn(this.#schemas.defs, name);
      if (name !== undefined && def !== undefined && !usedNames.has(name)) {
        usedNames.add(name);
        queue.push(def);
      }
      for (const value of Object.values(next)) queue.push(value);
    }
    const entries = [...usedNames]
      .toSorted()
      .map((name) => [name, this.#schemas.defs[name] as JsonObject] as const);
    return Object.fromEntries(entries);
  }
}

/** Returns the tool. Throws UnsupportedDocumentError for a tool that would be refused when the file is read. */
function checkTool(tool: ServiceTool): ServiceTool {
  const { error } = serviceTool.safeParse(tool);
  if (!error) return tool;
  const [issue] = error.issues;
  throw new UnsupportedDocumentError(
    `has a part that tools cannot have: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`,
  );
}

function isSelected(patterns: readonly string[], id: string, operation: Operation): boolean {
  const { operationId = '', key, tags } = operation;
  const texts = [id, operationId, key, ...tags.map((tag) => `tag:${tag}`)];
  return patterns.some((pattern) => texts.some((text) => matchesPattern(pattern, text)));
}

function isHeader({ in: location, name }: Parameter, header: string | undefined): boolean {
  return location === 'header' && name.toLowerCase() === header?.toLowerCase();
}

function isReadOnly(method: Method): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

function descriptionOf({ summary, description, key }: Operation): string {
  const fullText = [summary, description === summary ? '' : description]
    .filter((text) => text !== '')
    .join('\n');
  const text = fullText === '' ? key : fullText;
  return text.length > MAX_DESCRIPTION_CHARS
    ? `${text.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed()}…`
    : text;
}

function withDescription(schema: JsonObject, description: string | undefined): JsonObject {
  if (description === undefined || schema['description'] !== undefined) return schema;
  return { ...schema, description: description.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed() };
}

function serviceParameterOf(
  { in: location, name, style, explode, allowReserved, json }: Parameter,
  argument: string,
): NonNullable<ServiceTool['parameters']>[number] {
  return {
    argument,
    in: location,
    name,
    style: style as 'simple',
    explode,
    ...(allowReserved && { reserved: true as const }),
    ...(json && { json: true as const }),
  };
}

/** The schema of a file as an argument. */
const FILE_SCHEMA: JsonObject = {
  description: 'A file: its text, or a run file, or {"name", "type", "base64"}.',
  anyOf: [
    { type: 'string' },
    {
      type: 'object',
      properties: { name: { type: 'string' }, type: { type: 'string' }, base64: { type: 'string' } },
    },
  ],
};

function bodyTypeOf({ mediaType, schema }: Body): ServiceBody['type'] {
  if (/[/+]json\b/i.test(mediaType)) return 'json';
  if (/^application\/x-www-form-urlencoded\b/i.test(mediaType)) return 'form';
  if (/^multipart\//i.test(mediaType)) return 'multipart';
  if (/^text\/|[/+](?:xml|yaml|graphql|javascript|x-ndjson)\b/i.test(mediaType)) return 'text';
  const isData = mediaType === '*/*' && !isBinary(schema);
  return isData ? 'json' : 'binary';
}

function isBinary(schema: Json | undefined): boolean {
  if (!isJsonObject(schema)) return false;
  const type = getOwn(schema, 'type');
  if (getOwn(schema, 'format') === 'binary') return true;
  const mediaType = getOwn(schema, 'contentMediaType');
  return type === undefined && mediaType !== undefined && getOwn(schema, 'contentEncoding') === undefined;
}

const MAX_FIELDS = 500;

/** Returns up to MAX_FIELDS properties of a schema, including those of its reference and of `allOf`. */
function propertiesOf(schema: JsonObject, defs: JsonObject, result: JsonObject = {}, depth = 0): JsonObject {
  if (depth > 5) return result;
  for (const name in objectOrEmpty(getOwn(schema, 'properties'))) {
    if (Object.keys(result).length >= MAX_FIELDS) return result;
    result[name] ??= objectOrEmpty(getOwn(schema, 'properties'))[name] ?? {};
  }
  const reference = getOwn(schema, '$ref');
  const target = typeof reference === 'string' ? getOwn(defs, reference.slice('#/$defs/'.length)) : undefined;
  const all = getOwn(schema, 'allOf');
  const subschemas = [
    ...(Array.isArray(all) ? all.slice(0, 20) : []),
    ...(target === undefined ? [] : [target]),
  ];
  for (const subschema of subschemas) propertiesOf(objectOrEmpty(subschema), defs, result, depth + 1);
  return result;
}

function fieldOf(
  schema: Json | undefined,
  encoding: Json | undefined,
): NonNullable<ServiceBody['fields']>[string] {
  const options = objectOrEmpty(encoding);
  const [style, explode, contentType] = ['style', 'explode', 'contentType'].map((key) =>
    getOwn(options, key),
  );
  const knownStyle = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'].find(
    (candidate) => candidate === style,
  );
  const items = isJsonObject(schema) ? getOwn(schema, 'items') : undefined;
  const isMediaType = typeof contentType === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(contentType);
  return {
    ...(knownStyle !== undefined && { style: knownStyle as 'form' }),
    ...(typeof explode === 'boolean' && { explode }),
    ...(isMediaType && { mediaType: contentType }),
    ...((isBinary(schema) || isBinary(items)) && { file: true as const }),
  };
}

/** Returns the schema of a form with schemas for its files. */
function withFiles(schema: JsonObject, fields: NonNullable<ServiceBody['fields']>): JsonObject {
  const properties = getOwn(schema, 'properties');
  if (!isJsonObject(properties)) return schema;
  const entries = Object.entries(properties).map(([name, property]): [string, Json] => {
    if (fields[name]?.file !== true) return [name, property];
    const { description } = objectOrEmpty(property);
    const file = { ...FILE_SCHEMA, ...(description !== undefined && { description }) };
    return [
      name,
      getOwn(objectOrEmpty(property), 'type') === 'array' ? { type: 'array', items: file } : file,
    ];
  });
  return { ...schema, properties: Object.fromEntries(entries) };
}

/** Returns a message with the patterns that are not checked, because a check would need backtracking. */
function uncheckedReason(patterns: readonly string[]): string {
  const shownPatterns = [...new Set(patterns)]
    .slice(0, 3)
    .map((pattern) => JSON.stringify(pattern.slice(0, 60)));
  return `patterns of its arguments cannot be checked in linear time: ${shownPatterns.join(', ')}`;
}
