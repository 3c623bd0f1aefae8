import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { startServices } from './services.ts';
import type { Services } from './services.ts';
import { googleError } from './simulated-service.ts';
import type { SimulatedResponse } from './simulated-service.ts';

let services: Services;
beforeAll(async () => {
  services = await startServices();
});
beforeEach(() => {
  services.requests.length = 0;
});
afterAll(() => services.close());

/** An accepted call of each service. */
const CALLS = {
  slack: ['slack', { operation: 'send', channel: 'C0123456789', text: 'Hello' }],
  gmail: ['gmail_v2', { operation: 'send_gmail', to: 'ada@example.com', subject: 'Hi', body: 'Hello' }],
  google_sheets: [
    'google_sheets_v2',
    { operation: 'append', spreadsheetId: 'sheet-1', sheetName: 'A', values: [['x']] },
  ],
  google_calendar: ['google_calendar_v2', { operation: 'list' }],
  notion: ['notion_v2', { operation: 'notion_create_page', parentId: 'page', title: 'T', content: 'c' }],
  linear: ['linear', { operation: 'linear_create_issue', teamId: 'team-1', title: 'T' }],
  supabase: ['supabase', { operation: 'query', table: 'orders', limit: '2' }],
} as const satisfies { [service: string]: readonly [string, JsonObject] };
type ServiceName = keyof typeof CALLS;

async function run([type, fields]: readonly [string, JsonObject], options: EngineOptions = {}) {
  const engine = await createEngine({
    blocks: blocks(),
    services: services.baseUrls,
    credentials: Object.fromEntries(Object.keys(services.baseUrls).map((name) => [name, `token-of-${name}`])),
    clock: new TestClock(),
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine.execute({ workflow: workflow([block('A', type, fields)], ['Start -> A']) });
}

const slackError = (error: string, details: JsonObject = {}): SimulatedResponse => ({
  body: { ok: false, error, ...details },
});
const googleReasonError = (code: number, cause: string, message: string): SimulatedResponse => ({
  status: code,
  body: { error: { code, message, errors: [{ domain: 'global', reason: cause, message }] } },
});
const notionError = (status: number, code: string, message: string): SimulatedResponse => ({
  status,
  body: { object: 'error', status, code, message, request_id: 'r' },
});
const linearError = (status: number, code: string, message: string): SimulatedResponse => ({
  status,
  body: { errors: [{ message, extensions: { code, userPresentableMessage: message } }] },
});
const postgrestError = (status: number, code: string, message: string): SimulatedResponse => ({
  status,
  body: { code, message, details: null, hint: null },
});

/** Error responses of the services, according to their public documentation. */
const ERROR_RESPONSES: readonly [ServiceName, SimulatedResponse, kind: string, message: string][] = [
  ['slack', slackError('invalid_auth'), 'auth', 'invalid_auth'],
  [
    'slack',
    slackError('missing_scope', { needed: 'chat:write', provided: 'users:read' }),
    'auth',
    'missing_scope',
  ],
  ['slack', slackError('channel_not_found'), 'not_found', 'channel_not_found'],
  ['gmail', googleError(401, 'UNAUTHENTICATED', 'Invalid Credentials'), 'auth', 'Invalid Credentials'],
  [
    'gmail',
    googleReasonError(403, 'insufficientPermissions', 'Insufficient Permission'),
    'auth',
    'Insufficient Permission',
  ],
  [
    'gmail',
    googleReasonError(404, 'notFound', 'Requested entity was not found.'),
    'not_found',
    'was not found',
  ],
  ['gmail', googleReasonError(500, 'backendError', 'Backend Error'), 'temporary', 'Backend Error'],
  ['google_sheets', googleError(401, 'UNAUTHENTICATED', 'Expected OAuth 2'), 'auth', 'Expected OAuth 2'],
  [
    'google_sheets',
    googleError(403, 'PERMISSION_DENIED', 'The caller does not have permission'),
    'auth',
    'The caller does not have permission',
  ],
  ['google_sheets', googleError(404, 'NOT_FOUND', 'Requested entity was not found.'), 'not_found', 'entity'],
  [
    'google_sheets',
    googleError(400, 'INVALID_ARGUMENT', 'Unable to parse range: Z!!'),
    'invalid',
    'Unable to parse range',
  ],
  [
    'google_calendar',
    googleReasonError(401, 'authError', 'Invalid Credentials'),
    'auth',
    'Invalid Credentials',
  ],
  [
    'google_calendar',
    googleReasonError(403, 'forbiddenForNonOrganizer', 'Shared properties'),
    'auth',
    'Shared',
  ],
  ['google_calendar', googleReasonError(404, 'notFound', 'Not Found'), 'not_found', 'Not Found'],
  [
    'google_calendar',
    googleReasonError(410, 'deleted', 'Resource has been deleted'),
    'not_found',
    'has been deleted',
  ],
  ['notion', notionError(401, 'unauthorized', 'API token is invalid.'), 'auth', 'API token is invalid.'],
  [
    'notion',
    notionError(403, 'restricted_resource', 'Insufficient permissions for this endpoint.'),
    'auth',
    'Insufficient permissions',
  ],
  [
    'notion',
    notionError(404, 'object_not_found', 'Could not find page with ID'),
    'not_found',
    'Could not find',
  ],
  ['notion', notionError(409, 'conflict_error', 'Conflict occurred while saving.'), 'conflict', 'Conflict'],
  [
    'linear',
    linearError(401, 'AUTHENTICATION_ERROR', 'Authentication required, not authenticated'),
    'auth',
    'Authentication required',
  ],
  ['linear', linearError(403, 'FORBIDDEN', 'You do not have permission'), 'auth', 'do not have permission'],
  [
    'linear',
    linearError(200, 'INPUT_ERROR', 'Entity not found: Team'),
    'not_found',
    'Entity not found: Team',
  ],
  [
    'linear',
    linearError(400, 'INVALID_INPUT', 'Argument Validation Error'),
    'invalid',
    'Argument Validation',
  ],
  ['supabase', { status: 401, body: { message: 'Invalid API key', hint: 'x' } }, 'auth', 'Invalid API key'],
  ['supabase', postgrestError(401, 'PGRST301', 'JWT expired'), 'auth', 'JWT expired'],
  [
    'supabase',
    postgrestError(403, '42501', 'permission denied for table orders'),
    'auth',
    'permission denied',
  ],
  [
    'supabase',
    postgrestError(404, 'PGRST205', "Could not find the table 'o'"),
    'not_found',
    'Could not find',
  ],
  ['supabase', postgrestError(409, '23505', 'duplicate key value'), 'conflict', 'duplicate key value'],
];

describe('an error response of a service', () => {
  it.each(ERROR_RESPONSES)(
    'fails the block with kind and reason: %s %j',
    async (name, response, kind, message) => {
      // Retries get the error too, so that they do not hide it.
      services.respondNext(name, response, kind === 'temporary' ? 1 : 3);
      const { error } = await run(CALLS[name]);
      services.respondNext(name, response, 0);
      expect(error).toMatchObject({ code: 'HTTP_FAILED', details: { kind } });
      expect(error?.message).toContain(message);
      expect(error?.message).not.toContain(`token-of-${name}`);
      expect(services.requests).toHaveLength(1);
    },
  );
});

/** Responses of services that limit calls, and the milliseconds until the next call is allowed. */
const RATE_LIMITS: readonly [ServiceName, SimulatedResponse, waitMs: number][] = [
  [
    'slack',
    { status: 429, headers: { 'retry-after': '7' }, body: { ok: false, error: 'ratelimited' } },
    7000,
  ],
  ['gmail', googleReasonError(403, 'userRateLimitExceeded', 'User Rate Limit Exceeded'), 1000],
  ['google_sheets', googleError(429, 'RESOURCE_EXHAUSTED', "Quota exceeded for 'Write requests'"), 1000],
  ['google_calendar', googleReasonError(403, 'rateLimitExceeded', 'Rate Limit Exceeded'), 1000],
  ['google_calendar', googleReasonError(403, 'quotaExceeded', 'Calendar usage limits exceeded.'), 1000],
  [
    'notion',
    { ...notionError(429, 'rate_limited', 'You have been rate limited.'), headers: { 'retry-after': '3' } },
    3000,
  ],
  [
    'linear',
    {
      ...linearError(400, 'RATELIMITED', 'Rate limit exceeded'),
      headers: { 'x-ratelimit-requests-reset': '5' },
    },
    5000,
  ],
  [
    'supabase',
    { status: 429, headers: { 'retry-after': '2' }, body: { message: 'API rate limit exceeded' } },
    2000,
  ],
];

describe('a rate limit of a service', () => {
  it.each(RATE_LIMITS)(
    'delays the call for the time that the service sets: %s %j',
    async (name, response, waitMs) => {
      services.respondNext(name, response);
      const clock = new TestClock();
      const resultPromise = run(CALLS[name], { clock });
      await clock.waitForTimer(waitMs);
      clock.advance(waitMs - 1);
      expect(services.requests).toHaveLength(1);
      clock.advance(1);
      expect(await resultPromise).toMatchObject({ error: null, status: 'completed' });
      expect(services.requests.length).toBeGreaterThan(1);
    },
  );

  it('can end at a time given in milliseconds, and fails the block if it ends in an hour', async () => {
    const nowMs = Date.parse('2026-01-01T00:00:00Z');
    const headers = { 'x-ratelimit-requests-reset': String(nowMs + 3_600_000) };
    services.respondNext('linear', { ...linearError(400, 'RATELIMITED', 'Rate limit exceeded'), headers });
    const { error } = await run(CALLS.linear, { clock: new TestClock(nowMs) });
    expect(error).toMatchObject({ details: { kind: 'rate', status: 400 } });
    expect(services.requests).toHaveLength(1);
  });
});

interface PagedCall {
  type: string;
  fields: JsonObject;
  outputField: string;
  pageCount: number;
}

describe('the pages of a list from a service', () => {
  it.each<[string, PagedCall]>([
    [
      'slack',
      {
        ...{ type: 'slack', outputField: 'messages', pageCount: 5 },
        fields: { operation: 'read', channel: 'C0123456789', limit: '1' },
      },
    ],
    [
      'gmail',
      {
        ...{ type: 'gmail_v2', outputField: 'messages', pageCount: 5 },
        fields: { operation: 'search_gmail', query: 'x', maxResults: '2' },
      },
    ],
    [
      'google_calendar',
      {
        ...{ type: 'google_calendar_v2', outputField: 'events', pageCount: 5 },
        fields: { operation: 'list', calendarId: 'busy', maxResults: '3' },
      },
    ],
    [
      'notion',
      {
        ...{ type: 'notion_v2', outputField: 'blocks', pageCount: 10 },
        fields: { operation: 'notion_read', pageId: 'long-page', pageSize: '2' },
      },
    ],
    [
      'supabase',
      {
        ...{ type: 'supabase', outputField: 'data', pageCount: 1 },
        fields: { operation: 'query', table: 'orders', limit: '4' },
      },
    ],
  ])(
    'are limited by the definition of the service: %s',
    async (_name, { type, fields, outputField, pageCount }) => {
      const result = await run([type, fields]);
      expect(result).toMatchObject({ error: null });
      expect(services.requests).toHaveLength(pageCount);
      const size = Number(fields['limit'] ?? fields['maxResults'] ?? fields['pageSize']);
      expect((result.output as { [name: string]: unknown[] })[outputField]).toHaveLength(pageCount * size);
    },
  );
});
