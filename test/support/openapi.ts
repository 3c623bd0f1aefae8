import type { Json, JsonObject } from '../../packages/core/src/json.ts';
import { importOpenApi } from '../../packages/blocks/src/openapi/import.ts';
import type { ImportedTools, ImportOptions } from '../../packages/blocks/src/openapi/import.ts';
import { ServiceTools } from '../../packages/blocks/src/openapi/service-tools.ts';

export const okResponses = { responses: { '200': { description: 'ok' } } };

/** Returns an OpenAPI document with these fields. */
export const documentOf = (fields: JsonObject): JsonObject => ({
  openapi: '3.1.0',
  info: { title: 'Test', version: '1' },
  servers: [{ url: 'https://api.test/v1/' }],
  ...fields,
});

/** Imports an OpenAPI document with these fields as tools of the service `svc`. */
export async function importSpec(
  fields: JsonObject,
  options: Partial<ImportOptions> = {},
): Promise<ImportedTools> {
  return importOpenApi(documentOf(fields), { name: 'svc', ...options });
}

/** Returns the field `components` of a document with these schemas. */
export const componentsWithSchemas = (value: JsonObject): JsonObject => ({ components: { schemas: value } });

/** Returns the paths of a document whose only operation has this request body. */
export const pathsWithBody = (schema: Json, mediaType = 'application/json'): JsonObject => ({
  paths: {
    '/x': {
      post: { operationId: 'x', ...okResponses, requestBody: { content: { [mediaType]: { schema } } } },
    },
  },
});

/** Returns the schema of the request body in the tool that a model gets. */
export function modelBodySchemaOf({ file }: ImportedTools): JsonObject {
  const schema = new ServiceTools([file]).get('svc_x')?.schema ?? {};
  const { properties, $defs } = schema as { properties: JsonObject; $defs?: JsonObject };
  return { ...(properties['body'] as JsonObject), ...($defs && { $defs }) };
}
