import { describe, expect, it } from 'vitest';
import { errorIn } from '../../../../test/support/api.ts';
import type { Answer } from '../../../../test/support/api.ts';
import { GREETING, LONG, untilStatus } from '../../../../test/support/api-workflows.ts';
import { recordingApi } from '../../../../test/support/recorded.ts';
import type { Principal } from '../auth/principal.ts';
import { AUTHENTICATED_LIMITS } from './input-limits.ts';
import type { LimitKind, LimitState } from './limiter.ts';
import type { UsageAnswer, UsageRefusal } from './usage.ts';

/** What is wrong with a request, or with what it meets. */
type Wrong =
  | LimitKind
  | UsageRefusal
  | 'bad key'
  | 'keys are down'
  | 'narrow scope'
  | 'long chain'
  | 'no ticket'
  | 'broken body'
  | 'large body'
  | 'foreign body'
  | 'odd body'
  | 'combination'
  | 'foreign workflow'
  | 'used id'
  | 'claims are down'
  | 'draft'
  | 'no place'
  | 'places are down'
  | 'queue is down'
  | 'selector';

const wrongs = new Set<Wrong>();
const EMPTY: LimitState = { allowed: false, limit: 2, remaining: 0, resetMs: 90_000, retryAfterMs: 60_000 };
const down = (): Promise<never> => Promise.reject(new Error('It is down.'));

const api = await recordingApi({
  capacity: 1,
  now: () => 0,
  limiter: { take: (kind) => (wrongs.has(kind === 'async' ? 'sync' : kind) ? EMPTY : undefined) },
  clientAddress: () => '192.0.2.1',
  usage: {
    reserve: (): UsageAnswer => {
      const refused = (['suspended', 'limit', 'payer', 'member'] as const).find((why) => wrongs.has(why));
      return refused ? { refused } : {};
    },
  },
  concurrency: {
    acquire: () =>
      wrongs.has('places are down') ? down() : wrongs.has('no place') ? undefined : () => undefined,
  },
  authenticator: { authenticate: ({ apiKey, bearer }) => caller(apiKey, bearer) },
});

/** Knows one key, and a token that may only read. */
function caller(apiKey: string | undefined, bearer: string | undefined): Promise<Principal | undefined> {
  if (wrongs.has('keys are down')) return down();
  if (apiKey === undefined ? bearer !== 'reader' : apiKey !== api.key) return Promise.resolve(undefined);
  const scopes = apiKey === undefined ? (['api:read'] as const) : (['api:write'] as const);
  const userId = api.userId;
  const who = { kind: 'oauth', credentialId: 'c', userId, workspaceId: null } as const;
  return Promise.resolve({ ...who, scopes, expiresAt: null });
}

const { reservations, workspaces } = api.store;
const enqueue = reservations.enqueue.bind(reservations);
reservations.enqueue = (...given) => (wrongs.has('queue is down') ? down() : enqueue(...given));
const claim = reservations.reserve.bind(reservations);
reservations.reserve = (row) => (wrongs.has('claims are down') ? down() : claim(row));

const deployed = await api.deployed(GREETING);
const drafted = await api.drafted(GREETING);
const long = await api.deployed(LONG);
const foreign = await foreignWorkflow();
const usedId = crypto.randomUUID();
if ((await send()).status !== 200) throw new Error('A request that is right is refused.');

async function foreignWorkflow(): Promise<string> {
  const stranger = await workspaces.createUser({ email: 'stranger@heddle.test', name: 'Eve' });
  const row = await api.store.workflows.find(drafted);
  if (!row) throw new Error('The draft is gone.');
  const id = crypto.randomUUID();
  const workspace_id = await workspaces.createWorkspace('Elsewhere', stranger);
  await api.store.workflows.create({ ...row, id, workspace_id }, []);
  return id;
}

function bodyOf(): object {
  const isAsync = wrongs.has('queue is down') || wrongs.has('combination');
  return {
    ...(isAsync && { async: true }),
    ...(wrongs.has('combination') && { stream: true }),
    ...(wrongs.has('selector') && { selectedOutputs: ['Ghost.x'] }),
    ...(wrongs.has('odd body') && { colour: 'red' }),
    ...(wrongs.has('large body') && { input: { text: 'x'.repeat(AUTHENTICATED_LIMITS.bytes) } }),
  };
}

function headersOf(): { [name: string]: string } {
  return {
    'X-Run-Id': wrongs.size === 0 || wrongs.has('used id') ? usedId : crypto.randomUUID(),
    ...(wrongs.has('long chain') && { 'X-Sim-Via': Array<string>(25).fill('w').join(',') }),
    ...(wrongs.has('narrow scope') && { Authorization: 'Bearer reader' }),
    ...(wrongs.has('foreign body') && { 'Content-Type': 'application/xml' }),
  };
}

/** A request that is right but for what is wrong. */
function send(): Promise<Answer<unknown>> {
  const own = wrongs.has('draft') ? drafted : deployed;
  const id = wrongs.has('foreign workflow') ? foreign : own;
  const known = wrongs.has('narrow scope') ? null : api.key;
  const key = wrongs.has('bad key') ? 'sk-heddle-guess' : known;
  const isBroken = wrongs.has('broken body') || wrongs.has('foreign body');
  const raw = JSON.stringify(bodyOf()) + (isBroken ? '}' : '');
  return api.call('POST', `/api/v2/workflows/${id}/execute`, { key, headers: headersOf(), raw });
}

interface Refusal {
  stage: number;
  wrong: Wrong;
  status: number;
  code: string;
  message: string;
  details?: unknown;
  headers?: { [name: string]: string };
  /** Its id is used all the same. */
  claims?: true;
}

const retryAfter = '1970-01-01T00:01:00.000Z';
const LIMIT = {
  'retry-after': '60',
  'x-ratelimit-limit': '2',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '1970-01-01T00:01:30.000Z',
};
const SOON = { 'retry-after': '5' };
const RATE = { code: 'RATE_LIMITED', message: 'API rate limit exceeded', status: 429, headers: LIMIT };
const HEADROOM = 'The rest of the usage limit does not cover the run';
const UNAVAILABLE = { code: 'SERVICE_UNAVAILABLE', status: 503 };
const DOWN = { ...UNAVAILABLE, message: 'Service temporarily unavailable', headers: SOON };
const NO_MONEY = { code: 'USAGE_LIMIT_EXCEEDED', status: 402 };

/** What each stage answers, in the order of the stages. Those with one number are alternatives. */
const REFUSALS: readonly Refusal[] = [
  { stage: 1, wrong: 'address', ...RATE, details: { retryAfter } },
  {
    ...{ stage: 2, wrong: 'bad key', status: 401, code: 'UNAUTHORIZED', message: 'Invalid API key' },
    headers: { 'www-authenticate': 'ApiKey realm="Heddle API", header="x-api-key"' },
  },
  { stage: 2, wrong: 'keys are down', ...DOWN },
  { stage: 3, wrong: 'operation', ...RATE, details: { retryAfter } },
  {
    ...{ stage: 4, wrong: 'narrow scope', status: 403, code: 'FORBIDDEN' },
    ...{ message: 'This operation needs the scope api:write', details: { code: 'INSUFFICIENT_SCOPE' } },
  },
  {
    ...{ stage: 5, wrong: 'long chain', status: 409, code: 'CONFLICT' },
    message: 'Maximum workflow call chain depth (25) exceeded.',
    details: { code: 'CALL_CHAIN_DEPTH_EXCEEDED' },
  },
  {
    ...{ stage: 7, wrong: 'broken body', status: 400, code: 'BAD_REQUEST' },
    message: 'Request body must be valid JSON',
  },
  {
    ...{ stage: 7, wrong: 'large body', status: 413, code: 'PAYLOAD_TOO_LARGE' },
    message: 'Request body is too large',
  },
  {
    ...{ stage: 7, wrong: 'foreign body', status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' },
    message: 'Request body must be sent as application/json',
  },
  {
    ...{ stage: 7, wrong: 'odd body', status: 400, code: 'BAD_REQUEST' },
    message: 'Unrecognized key: "colour"',
    details: [
      { code: 'unrecognized_keys', path: [], keys: ['colour'], message: 'Unrecognized key: "colour"' },
    ],
  },
  {
    ...{ stage: 8, wrong: 'no ticket', status: 429, code: 'RATE_LIMITED', headers: SOON },
    message: 'Server is at capacity. Please retry shortly.',
  },
  {
    ...{ stage: 9, wrong: 'combination', status: 400, code: 'BAD_REQUEST' },
    message: 'async and stream cannot be combined',
  },
  {
    ...{ stage: 10, wrong: 'foreign workflow', status: 404, code: 'NOT_FOUND' },
    message: 'Workflow not found',
  },
  {
    ...{ stage: 11, wrong: 'used id', status: 409, code: 'CONFLICT', headers: { 'x-run-id': usedId } },
    ...{ message: 'Run ID has already been used', details: { code: 'RUN_ID_CONFLICT', runId: usedId } },
  },
  { stage: 11, wrong: 'claims are down', ...DOWN },
  {
    ...{ stage: 12.1, wrong: 'draft', status: 403, code: 'FORBIDDEN' },
    ...{ message: 'Workflow is not deployed', details: { code: 'WORKFLOW_NOT_DEPLOYED' } },
  },
  {
    ...{ stage: 12.2, wrong: 'suspended', status: 403, code: 'FORBIDDEN' },
    message: 'The account is suspended',
  },
  { stage: 12.2, wrong: 'limit', ...NO_MONEY, message: 'Usage limit reached' },
  {
    ...{ stage: 12.2, wrong: 'payer', ...NO_MONEY, message: HEADROOM },
    details: { code: 'EXECUTION_PAYER_HEADROOM_EXHAUSTED' },
  },
  {
    ...{ stage: 12.2, wrong: 'member', ...NO_MONEY, message: HEADROOM },
    details: { code: 'EXECUTION_MEMBER_HEADROOM_EXHAUSTED' },
  },
  { stage: 12.3, wrong: 'sync', ...RATE, details: { code: 'RATE_LIMIT_EXCEEDED', retryAfter } },
  {
    ...{ stage: 12.4, wrong: 'no place', status: 429, code: 'RATE_LIMITED', headers: SOON },
    message: 'Too many runs are in flight. Please retry shortly.',
    details: { code: 'EXECUTION_CONCURRENCY_LIMIT' },
  },
  {
    ...{ stage: 12.4, wrong: 'places are down', ...UNAVAILABLE, headers: SOON },
    message: 'Runs cannot be accepted at the moment. Please retry shortly.',
    details: { code: 'SERVICE_OVERLOADED' },
  },
  {
    ...{ stage: 13, wrong: 'queue is down', ...UNAVAILABLE, claims: true },
    message: 'The run may or may not have been accepted',
    details: { code: 'ASYNC_ENQUEUE_AMBIGUOUS', runId: expect.any(String) },
    headers: { 'x-run-id': expect.any(String) as string },
  },
  {
    ...{ stage: 15, wrong: 'selector', status: 400, code: 'BAD_REQUEST' },
    message: 'Invalid selectedOutputs: "Ghost.x" names no block. There are "Start", "Words", "Reply".',
  },
];

/** The answer when all this is wrong, and how many rows the request has added. */
async function refusedFor(...all: Wrong[]) {
  for (const wrong of all) wrongs.add(wrong);
  const stream = wrongs.has('no ticket') ? await holdTicket() : undefined;
  const before = api.rows();
  const answer = await send();
  const after = api.rows();
  wrongs.clear();
  await stream?.body?.cancel();
  return { answer, before, after };
}

/** A stream of a run that goes on has the only ticket until nobody reads it. */
async function holdTicket(): Promise<Response> {
  const meanwhile = [...wrongs];
  wrongs.clear();
  const response = await api.fetch('POST', `/api/v2/workflows/${long}/execute`, { body: { stream: true } });
  const runId = response.headers.get('x-run-id') ?? '';
  await untilStatus(api, `/api/v2/workflows/${long}/runs/${runId}`, 'paused');
  // All that it records until its timer is due.
  await api.engine.getLogs(runId);
  for (const wrong of meanwhile) wrongs.add(wrong);
  return response;
}

function expectRefusal(answer: Answer<unknown>, refusal: Refusal): void {
  const { status, code, message, details, headers = {} } = refusal;
  expect({ status: answer.status, ...errorIn(answer.body) }).toEqual({
    ...{ status, code, message },
    ...(details !== undefined && { details }),
  });
  const found = Object.keys(LIMIT).filter((name) => answer.headers.has(name));
  expect(found.toSorted()).toEqual(
    Object.keys(LIMIT)
      .filter((name) => name in headers)
      .toSorted(),
  );
  for (const [name, value] of Object.entries(headers)) expect(answer.headers.get(name)).toEqual(value);
}

describe.each(REFUSALS.map((refusal) => [refusal.wrong, refusal] as const))('%s', (wrong, refusal) => {
  it('is answered as its stage says, and nothing is recorded', async () => {
    const { answer, before, after } = await refusedFor(wrong);
    expectRefusal(answer, refusal);
    const claimed = refusal.claims ? { claims: (before['claims'] ?? 0) + 1 } : {};
    expect(after).toEqual({ ...before, ...claimed });
  });

  const later = REFUSALS.filter(({ stage }) => stage > refusal.stage);
  // What is accepted asynchronously has no selected outputs: that is a combination, of an earlier stage.
  const together = later.filter(({ wrong: other }) => !(wrong === 'queue is down' && other === 'selector'));
  it(`is told before the ${together.length} refusals of later stages`, async () => {
    for (const other of together) {
      const { answer } = await refusedFor(wrong, other.wrong);
      expectRefusal(answer, refusal);
    }
  });
});
