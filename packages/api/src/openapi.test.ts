import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../test/support/api.ts';
import { openApiDocument } from './openapi.ts';
import { SERVED_OPERATIONS } from '../../../test/support/served-operations.ts';

interface Doc {
  info: { version: string };
  servers: object[];
  security: object[];
  paths: { [path: string]: { [method: string]: { operationId: string; responses: object } } };
}

const api = await createTestApi();

describe('the OpenAPI document', () => {
  it('is public, with the origin of the request', async () => {
    const response = await api.fetch('GET', '/openapi.json', { key: null });
    const doc = (await response.json()) as Doc;
    expect(response.status).toBe(200);
    expect(doc.info.version).toBe('2.0.0');
    expect(doc.servers).toEqual([{ url: 'http://heddle.test' }]);
    expect(doc.security).toEqual([{ apiKey: [] }, { oauthBearer: [] }]);
  });

  it('is valid according to an independent validator', async () => {
    const doc = openApiDocument(SERVED_OPERATIONS, 'https://heddle.test');
    const result = await new Validator().validate(JSON.parse(JSON.stringify(doc)) as never);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    const invalidDoc = { ...doc, paths: { '/x': { get: { responses: 7 } } } };
    expect((await new Validator().validate(invalidDoc as never)).valid).toBe(false);
  });

  it('has every operation, with a unique id and its declared errors', () => {
    const { paths } = openApiDocument(SERVED_OPERATIONS, 'https://heddle.test') as unknown as Doc;
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(
      SERVED_OPERATIONS.map(({ id }) => id).toSorted(),
    );
    for (const { path, method, errors, success, body, workflowResponses } of SERVED_OPERATIONS) {
      const statuses = Object.keys(paths[path]?.[method.toLowerCase()]?.responses ?? {});
      expect(statuses.includes('default')).toBe(workflowResponses !== undefined);
      const responses = statuses.filter((status) => status !== 'default');
      const streamStatuses = success.length === 0 ? [200] : [];
      // The body may not arrive in time.
      const timeoutStatuses = body ? [408] : [];
      const expected = [
        ...success.map(({ status }) => status),
        ...streamStatuses,
        ...errors,
        ...timeoutStatuses,
        500,
      ];
      expect(new Set(responses.map(Number))).toEqual(new Set(expected));
    }
    expect(new Set(SERVED_OPERATIONS.map(({ id }) => id)).size).toBe(SERVED_OPERATIONS.length);
  });

  it('allows what a Response block can send: any status, media type and data', () => {
    const { paths } = openApiDocument(SERVED_OPERATIONS, 'https://heddle.test') as unknown as Doc;
    const { responses } = paths['/api/workflows/{workflowId}/execute']?.['post'] ?? {};
    expect(responses).toMatchObject({
      200: { content: { 'application/json': { schema: { anyOf: [{ type: 'object' }, {}] } }, '*/*': {} } },
      default: { description: expect.stringContaining('Response block'), content: { '*/*': {} } },
    });
  });
});
