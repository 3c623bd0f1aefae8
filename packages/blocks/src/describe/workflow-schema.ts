import type { Json, JsonObject } from '@heddle/core/blocks';
import { isJsonObject } from '@heddle/core/blocks';
import type { BlockDescription } from './describe.ts';

/** Schema of an empty value, or of text with a reference or a placeholder. Every field may have such a value. */
const REFERENCE_OR_EMPTY: JsonObject = { type: ['string', 'null'], pattern: '^\\s*$|<|\\{\\{' };
const NUMBER_OR_REFERENCE_PATTERN = '^\\s*$|^\\s*[-+.\\d]|<|\\{\\{';

const TEXT: JsonObject = { type: 'string' };
const TEXT_OR_NULL: JsonObject = { type: ['string', 'null'] };

/**
 * Returns a JSON Schema (draft 7) of workflow files in all accepted forms, with the fields of these blocks. It accepts
 * what Heddle accepts: keys that editors add, empty fields, references in every field, and values as text.
 */
export function workflowSchema(blocks: readonly BlockDescription[]): JsonObject {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Heddle workflow',
    description: 'A workflow as editors export it. See docs/format.md.',
    type: 'object',
    properties: {
      $schema: TEXT,
      version: withDescription('Version of the export format.', {}),
      exportedAt: withDescription('Time of the export.', {}),
      workflow: withDescription('Id and name of the workflow.', {
        type: ['object', 'null'],
        properties: { id: TEXT_OR_NULL, name: TEXT_OR_NULL },
      }),
      state: withDescription('The graph, in an export.', { $ref: '#/definitions/state' }),
      data: withDescription('The export or the graph, in the response of an HTTP API.', { $ref: '#' }),
      ...STATE_PROPERTIES,
    },
    anyOf: [{ required: ['blocks', 'edges'] }, { required: ['state'] }, { required: ['data'] }],
    definitions: {
      state: { type: 'object', properties: STATE_PROPERTIES, required: ['blocks', 'edges'] },
      block: blockSchema(blocks),
      edge: EDGE,
      retry: RETRY,
    },
  };
}

const STATE_PROPERTIES: JsonObject = {
  blocks: withDescription('The blocks by id.', {
    type: 'object',
    additionalProperties: { $ref: '#/definitions/block' },
  }),
  edges: withDescription('The edges. Their order decides in which order blocks start.', {
    type: 'array',
    items: { $ref: '#/definitions/edge' },
  }),
  variables: withDescription('The variables by id, or a list, or either as JSON text.', {
    type: ['object', 'array', 'string', 'null'],
  }),
  loops: withDescription('Stored loops; used only for settings that the blocks do not define.', {}),
  parallels: withDescription('Stored parallels; used only for settings that the blocks do not define.', {}),
  metadata: withDescription(
    'Name and description, and engine: heddle for workflows that are written for Heddle.',
    {
      type: ['object', 'null'],
    },
  ),
};

const EDGE: JsonObject = {
  type: 'object',
  required: ['source', 'target'],
  properties: {
    source: withDescription('Id of the block that the edge leaves.', TEXT),
    target: withDescription('Id of the block that the edge leads to.', TEXT),
    sourceHandle: withDescription(
      'The port: source (default), error, condition-ROW, router-ROUTE, loop-start-source, parallel-start-source.',
      TEXT_OR_NULL,
    ),
  },
};

const RETRY: JsonObject = {
  type: ['object', 'null'],
  properties: {
    enabled: withDescription('False: one attempt.', {}),
    maxTries: withDescription('Maximum number of attempts.', {}),
    waitBetweenTriesMs: withDescription('Milliseconds between attempts.', {}),
    backoffCoefficient: withDescription('Factor by which the time between attempts grows.', {}),
    maxWaitMs: withDescription('Longest time between attempts in milliseconds.', {}),
    jitter: withDescription('Share of the time between attempts that is random, from 0 to 1.', {}),
  },
};

function blockSchema(blocks: readonly BlockDescription[]): JsonObject {
  const types = blocks.map(({ type }) => type);
  return {
    type: 'object',
    required: ['type'],
    properties: {
      id: withDescription('The same as its key.', TEXT_OR_NULL),
      // Other types are accepted too: a host registers them, or a mock replaces them.
      type: withDescription('Type of the block.', { anyOf: [{ enum: types }, TEXT] }),
      name: withDescription('Name in references.', TEXT_OR_NULL),
      enabled: withDescription('False: the block does not run.', { type: ['boolean', 'null'] }),
      triggerMode: withDescription('True: the block starts runs, whatever its type.', {
        type: ['boolean', 'null'],
      }),
      subBlocks: withDescription('The fields by id.', {
        type: ['object', 'null'],
      }),
      outputs: withDescription('Declared outputs of a type that Heddle does not know.', {}),
      data: withDescription('parentId of the container around the block, and the settings of a container.', {
        type: ['object', 'null'],
        properties: { parentId: TEXT_OR_NULL },
      }),
      retry: { $ref: '#/definitions/retry' },
      timeoutMs: withDescription('Limit for one attempt in milliseconds.', {}),
    },
    allOf: blocks.map((block) => {
      const { type } = block;
      const typeCondition = {
        required: ['type'],
        properties: { type: { const: type }, triggerMode: { not: { const: true } } },
      };
      return { anyOf: [{ not: typeCondition }, { properties: fieldsSchemaOf(block) }] };
    }),
  };
}

/** Returns the schema of the key that has a type's fields: `subBlocks`, or `data` of a container. */
function fieldsSchemaOf({ type, summary, fields }: BlockDescription): JsonObject {
  const schemas = Object.entries((fields['properties'] ?? {}) as { [name: string]: JsonObject });
  if (type === 'loop' || type === 'parallel')
    return {
      data: {
        description: summary,
        properties: Object.fromEntries(schemas.map(([name, schema]) => [name, toLenientSchema(schema)])),
      },
    };
  const subBlockSchemas = schemas.map(([name, schema]): [string, JsonObject] => {
    const { description = '' } = schema;
    return [name, { description, properties: { value: toLenientSchema(schema) } }];
  });
  return { subBlocks: { description: summary, properties: Object.fromEntries(subBlockSchemas) } };
}

function withDescription(description: string, schema: JsonObject): JsonObject {
  return { description, ...schema };
}

/**
 * Returns a schema that also accepts what Heddle converts: numbers, booleans, arrays and objects as text, and
 * references.
 */
function toLenientSchema(schema: JsonObject): JsonObject {
  const { type, enum: values, const: value, anyOf, pattern: _, required: __, default: ___, ...rest } = schema;
  if (Array.isArray(values) || value !== undefined)
    return {
      ...rest,
      anyOf: [{ enum: Array.isArray(values) ? values : [value as Json] }, REFERENCE_OR_EMPTY],
    };
  if (Array.isArray(anyOf))
    return {
      ...rest,
      anyOf: anyOf.map((option) => (isJsonObject(option) ? toLenientSchema(option) : option)),
    };
  // Every value becomes text.
  if (type === 'string') return anyValueSchema(rest);
  if (type === 'number' || type === 'integer')
    return { ...rest, type: ['number', 'string', 'null'], pattern: NUMBER_OR_REFERENCE_PATTERN };
  if (type === 'boolean')
    return { ...rest, anyOf: [{ type: 'boolean' }, { enum: ['true', 'false'] }, REFERENCE_OR_EMPTY] };
  if (type === 'array')
    return { ...lenientSubschemas(rest, 'items'), type: ['array', 'object', 'string', 'null'] };
  if (type === 'object')
    return { ...lenientSubschemas(rest, 'properties'), type: ['object', 'string', 'null'] };
  return anyValueSchema(rest);
}

/** Returns a schema of any value, with the description. */
function anyValueSchema({ description }: JsonObject): JsonObject {
  return description === undefined ? {} : { description };
}

function lenientSubschemas(schema: JsonObject, key: 'items' | 'properties'): JsonObject {
  const { [key]: subschemas, description } = schema;
  const annotations = description === undefined ? {} : { description };
  if (!isJsonObject(subschemas)) return annotations;
  if (key === 'items') return { ...annotations, items: toLenientSchema(subschemas) };
  const properties = Object.entries(subschemas).map(([name, property]) => [
    name,
    isJsonObject(property) ? toLenientSchema(property) : {},
  ]);
  return { ...annotations, properties: Object.fromEntries(properties) as JsonObject };
}
