import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { openApiDocument } from './openapi.ts';
import type { AnyOperation } from './operation.ts';
import { SERVED_OPERATIONS } from '../../../test/support/served-operations.ts';

interface DeclaredSchema {
  type?: string | string[];
  properties?: { [name: string]: DeclaredSchema };
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  enum?: unknown[];
  format?: string;
}

interface Parameter {
  name: string;
  in: string;
  schema: DeclaredSchema;
}

interface Doc {
  paths: {
    [path: string]: {
      [method: string]: {
        parameters: Parameter[];
        requestBody?: { content: { [type: string]: { schema: DeclaredSchema } } };
      };
    };
  };
}

const { paths } = openApiDocument(SERVED_OPERATIONS, 'https://heddle.test') as unknown as Doc;

/** Sample values of the required fields of a body. */
const REQUIRED_FIELDS: { [id: string]: object } = {
  createWorkflowV2: { workspaceId: 'w', name: 'n' },
  replaceWorkflowState: { blocks: {}, edges: [] },
  updateWorkflowPublicApi: { isPublicApi: true },
  resumeWorkflowRunV2: { contextId: 'c' },
  updateWorkflowV2: { name: 'n' },
  moveWorkflows: { workspaceId: 'w', workflowIds: ['a'], folderPath: '/' },
  createWorkflowsFolder: { workspaceId: 'w', path: '/a' },
  relocateWorkflowsFolder: { workspaceId: 'w', path: '/a', destinationPath: '/b' },
  applyWorkflowOperations: { operations: [{ operation_type: 'delete', block_id: 'b' }] },
  applyWorkflowVariables: { operations: [{ operation: 'delete', name: 'v' }] },
  setSecret: { workspaceId: 'w', scope: 'personal', value: 'v' },
  createServiceAccountCredential: {
    ...{ workspaceId: 'w', type: 'service_account', providerId: 'p', credentials: 'the-secret' },
  },
  createSkill: { workspaceId: 'w', name: 'n', description: 'd', content: 'c' },
  updateSkill: { workspaceId: 'w', name: 'n' },
  grantSkillEditor: { workspaceId: 'w', email: 'e' },
  previewWorkflowImport: { workspaceId: 'w', workflow: {} },
  importWorkflow: { workspaceId: 'w', workflow: {} },
  createSandbox: { workspaceId: 'w', name: 'n', language: 'javascript', dependencies: ['a'] },
  updateSandbox: { workspaceId: 'w', name: 'n' },
};

/** Returns sample values: of each type, and at the declared bounds. */
function sampleValuesFor(declaredSchema: DeclaredSchema): unknown[] {
  const { minLength, maxLength, minimum, maximum, maxItems, ...schema } = declaredSchema;
  const lengths = [0, 1, minLength, maxLength, maxLength === undefined ? undefined : maxLength + 1];
  const strings = lengths
    .filter((length) => length !== undefined && length <= 60_000)
    .map((length) => 'x'.repeat(length ?? 0));
  const numbers = [minimum, maximum].flatMap((bound) =>
    bound === undefined ? [] : [bound - 1, bound, bound + 1],
  );
  const listLengths = maxItems === undefined || maxItems > 1000 ? [] : [maxItems, maxItems + 1];
  const times = ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00+02:00', '2026-02-31T12:00:00Z', '2026-01-31'];
  return [
    ...[null, true, 0, 7, 1.5, -1, {}, [], [1], ['a'], ' ', 'text', { a: 1 }],
    ...strings,
    ...numbers,
    ...listLengths.map((length) => Array.from({ length }, () => 'a')),
    ...(schema.enum ?? []),
    ...(schema.format === 'date-time' ? times : []),
  ];
}

/** Returns values for which the document and the parser disagree. */
function findDisagreements(
  declaredSchema: DeclaredSchema,
  parser: z.ZodType,
  requiredFields: object,
): string[] {
  const schema = z.fromJSONSchema(declaredSchema as never);
  const differences: string[] = [];
  for (const [name, property] of Object.entries(declaredSchema.properties ?? {}))
    for (const value of sampleValuesFor(property)) {
      const input = { ...requiredFields, [name]: value };
      const documentAccepts = schema.safeParse(input).success;
      const parserAccepts = parser.safeParse(input).success;
      if (documentAccepts !== parserAccepts)
        differences.push(
          `${name} = ${JSON.stringify(value).slice(0, 60)}: valid in the document: ${documentAccepts}, for the parser: ${parserAccepts}`,
        );
    }
  return differences;
}

function operationDoc({ path, method }: AnyOperation) {
  const operation = paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`${method} ${path} is not in the document.`);
  return operation;
}

const OPERATIONS_WITH_BODY = SERVED_OPERATIONS.filter(({ body }) => body !== undefined);

describe('the document and the parser agree at every bound', () => {
  it.each(OPERATIONS_WITH_BODY.map((operation) => [operation.id, operation] as const))(
    'of the body of %s',
    (id, operation) => {
      const declaredSchema = operationDoc(operation).requestBody?.content['application/json']?.schema ?? {};
      expect(
        findDisagreements(declaredSchema, operation.body as z.ZodType, REQUIRED_FIELDS[id] ?? {}),
      ).toEqual([]);
    },
  );

  it.each(SERVED_OPERATIONS.map((operation) => [operation.id, operation] as const))(
    'of path and query of %s',
    (_id, operation) => {
      for (const location of ['path', 'query'] as const) {
        const parser = location === 'path' ? operation.params : operation.query;
        for (const { name, in: parameterLocation, schema } of operationDoc(operation).parameters) {
          const field =
            parameterLocation === location ? (parser.shape[name] as z.ZodType | undefined) : undefined;
          if (!field) continue;
          const objectSchema = { type: 'object', properties: { [name]: schema } };
          expect(findDisagreements(objectSchema, z.object({ [name]: field }), {})).toEqual([]);
        }
      }
    },
  );

  it('of timestamps, which are in UTC', () => {
    const { parameters } = paths['/api/v2/workflows/{workflowId}/runs']?.['get'] ?? { parameters: [] };
    const startDateParameter = parameters.find(({ name }) => name === 'startDate');
    expect(startDateParameter?.schema).toMatchObject({ type: 'string', format: 'date-time', pattern: 'Z$' });
  });
});
