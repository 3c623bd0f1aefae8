import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ERROR_CODES_BY_STATUS } from '../../packages/api/src/errors.ts';
import type { ErrorStatus } from '../../packages/api/src/errors.ts';
import { AUTHENTICATED_LIMITS } from '../../packages/api/src/admission/input-limits.ts';
import type { AnyOperation } from '../../packages/api/src/operation.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { errorIn } from '../support/api.ts';
import type { ParsedResponse, CallOptions } from '../support/api.ts';
import { APPROVAL_WORKFLOW } from '../support/api-workflows.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { createRowCountingApi } from '../support/row-counting-api.ts';
import { createAcceptedCalls } from './accepted-calls.ts';
import type { AcceptedCall } from './accepted-calls.ts';
import { sample } from '../support/scale.ts';

const api = await createRowCountingApi();
const calls = await createAcceptedCalls(api);
const otherApi = await createRowCountingApi({ engine: api.engine, store: api.store });
const foreignKey = otherApi.key;

function acceptedCallOf({ method, path }: AnyOperation): AcceptedCall {
  const call = calls[`${method} ${path}`];
  if (!call) throw new Error(`There is no accepted request for ${method} ${path}.`);
  return call;
}

function pathOf({ path }: AnyOperation, values: AcceptedCall['path'], query: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? '')) + query;
}

interface Change {
  path?: AcceptedCall['path'];
  /** Replaces the query, with its question mark. */
  query?: string;
  options?: CallOptions;
}

/** Sends the accepted request of the operation with these changes. */
function send(operation: AnyOperation, change: Change = {}): Promise<ParsedResponse<unknown>> {
  const acceptedCall = acceptedCallOf(operation);
  const search = new URLSearchParams(acceptedCall.query).toString();
  const query = change.query ?? (search === '' ? '' : `?${search}`);
  const path = pathOf(operation, { ...acceptedCall.path, ...change.path }, query);
  return api.call(operation.method, path, { body: acceptedCall.body, ...change.options });
}

/** Expects an error envelope with the code of the status, and no new database rows. */
async function expectRefused(
  operation: Pick<AnyOperation, 'legacy'>,
  status: ErrorStatus,
  request: () => Promise<ParsedResponse<unknown>>,
): Promise<ReturnType<typeof errorIn>> {
  const rowCountsBefore = await api.waitForRowCounts();
  const response = await request();
  expect(api.countRows()).toEqual(rowCountsBefore);
  const error = errorIn(response.body);
  const code = operation.legacy ? undefined : ERROR_CODES_BY_STATUS[status];
  expect({ status: response.status, code: error.code }).toEqual({ status, code });
  expect(error.message).toMatch(/./);
  const knownFields = operation.legacy ? ['details', 'error'] : ['error'];
  expect(knownFields).toEqual(expect.arrayContaining(Object.keys(response.body as object)));
  expect(['code', 'message', 'details']).toEqual(expect.arrayContaining(Object.keys(error)));
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return error;
}

const OPERATIONS = SERVED_OPERATIONS.map(
  (operation) => [`${operation.method} ${operation.path}`, operation] as const,
);
const SAMPLE = sample(
  OPERATIONS,
  Math.ceil(OPERATIONS.length / 3),
  'operations that record nothing when they refuse',
);
/** Operations whose body may have any fields. */
const OPEN_BODY_OPERATIONS = new Set(['executeWorkflow', 'resumeExecution']);

describe.each(SAMPLE)('%s records nothing when it refuses', (_title, operation) => {
  const { body, bodyOptional, query, params, resource, id } = operation;
  const expectStatus = (status: ErrorStatus, change: Change) =>
    expectRefused(operation, status, () => send(operation, change));

  it('query parameters that are unknown, empty or repeated', async () => {
    await expectStatus(400, { query: '?colour=red' });
    for (const name of ['colour', ...Object.keys(query.shape)]) {
      expect(await expectStatus(400, { query: `?${name}=` })).toMatchObject({
        message: `${name} must not be empty`,
        details: [{ code: 'custom', path: [name] }],
      });
      if (operation.repeatableQueryKeys?.includes(name)) continue;
      expect(await expectStatus(400, { query: `?${name}=a&${name}=a` })).toMatchObject({
        message: `${name} must be sent once`,
      });
    }
  });

  // A secret is set by a name that need not exist yet.
  if (Object.keys(params.shape).length > 0 && id !== 'setSecret')
    it('unknown ids', async () => {
      for (const name of Object.keys(params.shape)) {
        const unknownId = name === 'version' ? '999999' : 'nothing';
        expect((await expectStatus(404, { path: { [name]: unknownId } })).message).toMatch(/not found/);
      }
    });

  if (resource.kind !== 'none')
    it('callers of other workspaces', async () => {
      expect((await expectStatus(404, { options: { key: foreignKey } })).message).toMatch(/not found/);
    });

  it('unauthenticated callers, and callers with an invalid credential', async () => {
    expect((await expectStatus(401, { options: { key: null } })).message).toMatch(/required|Unauthorized/);
    const guessedKeyError = await expectStatus(401, { options: { key: 'sk-heddle-guess' } });
    expect(guessedKeyError.message).toBe('Invalid API key');
  });

  if (body !== undefined)
    it('bodies that are invalid JSON, of another media type or too large', async () => {
      const invalidJsonError = await expectStatus(400, { options: { rawBody: '{"a": ' } });
      expect(invalidJsonError).toMatchObject({ message: 'Request body must be valid JSON' });
      const headers = { 'Content-Type': 'application/xml' };
      const mediaTypeError = await expectStatus(415, { options: { rawBody: '<a/>', headers } });
      expect(mediaTypeError).toMatchObject({ message: 'Request body must be sent as application/json' });
      const largeBodyOptions = { rawBody: JSON.stringify({ a: 'x'.repeat(AUTHENTICATED_LIMITS.bytes) }) };
      expect(await expectStatus(413, { options: largeBodyOptions })).toMatchObject({
        message: 'Request body is too large',
      });
      if (!bodyOptional) await expectStatus(400, { options: { rawBody: '', body: undefined } });
      for (const json of ['[]', 'null', '7']) await expectStatus(400, { options: { rawBody: json } });
    });

  if (body !== undefined && !OPEN_BODY_OPERATIONS.has(id))
    it('unknown fields', async () => {
      const invalidBody = { ...acceptedCallOf(operation).body, colour: 'red' };
      expect(await expectStatus(400, { options: { body: invalidBody } })).toMatchObject({
        details: [{ code: 'unrecognized_keys', keys: ['colour'], path: [] }],
      });
    });

  if (body === undefined && operation.method !== 'GET')
    it('bodies of operations without a body', async () => {
      expect(await expectStatus(400, { options: { body: { colour: 'red' } } })).toMatchObject({
        details: [{ code: 'unrecognized_keys', keys: ['colour'] }],
      });
    });
});

describe('a refused answer to a pause records nothing', () => {
  async function startPausedRun() {
    const id = await api.deploy(APPROVAL_WORKFLOW);
    const { data } = await api.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    const runPath = `/api/v2/workflows/${id}/runs/${data.runId}`;
    const run = await api.call<RunResponse>('GET', runPath);
    const createAnswerRequest = (body: object) => () => api.call('POST', `${runPath}/resume`, { body });
    return { runPath, createAnswerRequest, contextId: run.data.paused?.contextId ?? '' };
  }

  it('with an unknown token, with an invalid answer, and for a run that has ended', async () => {
    const { runPath, createAnswerRequest: answerCall, contextId } = await startPausedRun();
    const unknownTokenError = await expectRefused(
      {},
      404,
      answerCall({ contextId: 'wrong', input: { ok: true } }),
    );
    expect(unknownTokenError.message).toBe('Pause point not found');
    await expectRefused({}, 400, answerCall({ contextId, input: { ok: 'perhaps' } }));
    await expectRefused({}, 400, answerCall({ contextId, input: { ok: true }, colour: 'red' }));
    await expectRefused({}, 400, answerCall({ input: { ok: true } }));
    await expectRefused({}, 400, answerCall({ contextId: '' }));
    expect(await api.call('GET', runPath)).toMatchObject({ data: { status: 'paused' } });
    await api.call('POST', `${runPath}/cancel`);
    const error = await expectRefused({}, 409, answerCall({ contextId, input: { ok: true } }));
    expect(error.message).toMatch(/./);
  });
});

/** Expects that the body has exactly the fields that the operation declares for the status. */
function expectDeclared({ success, legacy }: AnyOperation, { status, body }: ParsedResponse<unknown>): void {
  if (success.length === 0) return;
  const declaredResponse = success.find((candidate) => candidate.status === status);
  if (!declaredResponse) throw new Error(`The operation does not declare the status ${status}.`);
  const { schema, isPage } = declaredResponse;
  const items = z.array(schema);
  const shape = isPage
    ? z.strictObject({ data: items, nextCursor: z.string().nullable() })
    : z.strictObject({ data: schema });
  // Parsing removes fields that are not declared.
  expect((legacy ? schema : shape).parse(body)).toEqual(body);
}

// Last, because these calls change the resources of the other tests.
describe.each(OPERATIONS)('%s', (_title, operation) => {
  it('accepts its request, responds with the declared body, and records its declared action', async () => {
    const auditCountBefore = api.countRows()['audit'] ?? 0;
    const response = await send(operation);
    expect([response.status, response.body]).toEqual([
      expect.toSatisfy((status: number) => status < 300),
      response.body,
    ]);
    expectDeclared(operation, response);
    const recordedCount = (api.countRows()['audit'] ?? 0) - auditCountBefore;
    expect(recordedCount > 0).toBe(operation.audit !== undefined);
  });
});
