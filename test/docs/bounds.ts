import { openApiDocument } from '../../packages/api/src/openapi.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { formatTable } from './markdown.ts';

type Schema = { readonly [key: string]: unknown };

/** Units of the limits of a schema. Minimum lengths are not listed. */
const LIMIT_UNITS: { readonly [key: string]: string } = {
  maxLength: 'characters',
  maximum: '',
  maxItems: 'items',
  maxProperties: 'entries',
};

/** Returns the table of the bounds of fields and parameters in the OpenAPI document. */
export function boundsTable(): string[] {
  const operationIdsByBound = new Map<string, Set<string>>();
  const { paths } = openApiDocument(SERVED_OPERATIONS, '') as { paths: { [path: string]: Schema } };
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const { operationId, parameters, requestBody } = operation as Schema & { operationId: string };
    const bounds = [
      ...(parameters as { name: string; schema: Schema }[]).flatMap(({ name, schema }) =>
        boundsIn(name, schema),
      ),
      ...boundsIn('', bodySchema(requestBody)),
    ];
    for (const bound of bounds)
      operationIdsByBound.set(bound, (operationIdsByBound.get(bound) ?? new Set()).add(`\`${operationId}\``));
  }
  return formatTable(
    ['field', 'at most', 'operations'],
    [...operationIdsByBound].map(([bound, operationIds]) => [
      ...bound.split('\n'),
      [...operationIds].join(', '),
    ]),
  );
}

function bodySchema(body: unknown): Schema {
  const { content } = (body ?? {}) as { content?: { [type: string]: { schema: Schema } } };
  return content?.['application/json']?.schema ?? {};
}

/** Returns `field\nbound` for each bound in a schema. */
function boundsIn(name: string, schema: Schema): string[] {
  const ownBounds = Object.entries(LIMIT_UNITS)
    .filter(([key]) => typeof schema[key] === 'number' && schema[key] < Number.MAX_SAFE_INTEGER)
    .map(
      ([key, unit]) => `\`${name}\`\n${`${(schema[key] as number).toLocaleString('en-US')} ${unit}`.trim()}`,
    );
  const pathOf = (key: string): string => (name === '' ? key : `${name}.${key}`);
  const {
    properties = {},
    items,
    additionalProperties,
    anyOf = [],
    oneOf = [],
  } = schema as {
    properties?: { [key: string]: Schema };
    items?: Schema;
    additionalProperties?: Schema | boolean;
    anyOf?: Schema[];
    oneOf?: Schema[];
  };
  return [
    ...ownBounds,
    ...Object.entries(properties).flatMap(([key, innerSchema]) => boundsIn(pathOf(key), innerSchema)),
    ...(items ? boundsIn(`${name}[]`, items) : []),
    ...(typeof additionalProperties === 'object' ? boundsIn(pathOf('*'), additionalProperties) : []),
    ...[...anyOf, ...oneOf].flatMap((innerSchema) => boundsIn(name, innerSchema)),
  ];
}
