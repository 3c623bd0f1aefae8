import { describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../../../../test/support/api.ts';
import type { ParsedResponse } from '../../../../test/support/api.ts';
import { GREETING_WORKFLOW, LONG_WORKFLOW, waitForStatus } from '../../../../test/support/api-workflows.ts';
import { createRowCountingApi } from '../../../../test/support/row-counting-api.ts';
import type { Principal } from '../auth/principal.ts';
import { AUTHENTICATED_LIMITS } from './input-limits.ts';
import type { LimitKind, LimitState } from './limiter.ts';
import type { UsageDecision, UsageRefusal } from './usage.ts';

/** A fault of a request or of a port; names of rate limits and usage limits stand for an exhausted limit. */
type Fault =
  | LimitKind
  | UsageRefusal
  | 'bad key'
  | 'keys are down'
  | 'narrow scope'
  | 'long chain'
  | 'no capacity'
  | 'broken body'
  | 'large body'
  | 'XML body'
  | 'unknown field'
  | 'combination'
  | 'foreign workflow'
  | 'used id'
  | 'reservations are down'
  | 'draft'
  | 'no slot'
  | 'concurrency is down'
  | 'queue is down'
  | 'selector';

const faults = new Set<Fault>();
const EMPTY_BUCKET: LimitState = {
  allowed: false,
  limit: 2,
  remaining: 0,
  resetAtMs: 90_000,
  retryAfterMs: 60_000,
};
const rejectPortCall = (): Promise<never> => Promise.reject(new Error('The port is down.'));

const api = await createRowCountingApi({
  capacity: 1,
  now: () => 0,
  limiter: { take: (kind) => (faults.has(kind === 'async' ? 'sync' : kind) ? EMPTY_BUCKET : undefined) },
  clientAddress: () => '192.0.2.1',
  usage: {
    reserve: (): UsageDecision => {
      const reasons = ['suspended', 'limit', 'payer', 'member'] as const;
      const refusal = reasons.find((reason) => faults.has(reason));
      return refusal ? { refusal } : {};
    },
  },
  concurrency: {
    acquire: () =>
      faults.has('concurrency is down')
        ? rejectPortCall()
        : faults.has('no slot')
          ? undefined
          : () => undefined,
  },
  authenticator: { authenticate: ({ apiKey, bearerToken }) => authenticate(apiKey, bearerToken) },
});

/** Accepts one key, and a token with the scope api:read. */
function authenticate(
  apiKey: string | undefined,
  bearerToken: string | undefined,
): Promise<Principal | undefined> {
  if (faults.has('keys are down')) return rejectPortCall();
  if (apiKey === undefined ? bearerToken !== 'reader' : apiKey !== api.key) return Promise.resolve(undefined);
  const scopes = apiKey === undefined ? (['api:read'] as const) : (['api:write'] as const);
  const userId = api.userId;
  const principal = { kind: 'oauth', credentialId: 'c', userId, workspaceId: null } as const;
  return Promise.resolve({ ...principal, scopes, expiresAt: null });
}

const { reservations, workspaces } = api.store;
const { queue } = reservations;
const add = queue.add.bind(queue);
queue.add = (...args) => (faults.has('queue is down') ? rejectPortCall() : add(...args));
const reserve = reservations.reserve.bind(reservations);
reservations.reserve = (row) => (faults.has('reservations are down') ? rejectPortCall() : reserve(row));

const deployedId = await api.deploy(GREETING_WORKFLOW);
const draftId = await api.createDraft(GREETING_WORKFLOW);
const longId = await api.deploy(LONG_WORKFLOW);
const foreignWorkflowId = await createForeignWorkflow();
const usedId = crypto.randomUUID();
// The first request has no faults, and uses `usedId`.
if ((await send()).status !== 200) throw new Error('A valid request is refused.');

async function createForeignWorkflow(): Promise<string> {
  const otherUser = await workspaces.createUser({ email: 'stranger@heddle.test', name: 'Eve' });
  const workspaceId = await workspaces.createWorkspace('Elsewhere', otherUser);
  const { key } = await api.store.keys.create({ workspaceId }, 'elsewhere');
  const body = { workspaceId, name: 'Foreign' };
  const otherApi = await createTestApi({ engine: api.engine, store: api.store });
  return (await otherApi.call<{ id: string }>('POST', '/api/v2/workflows', { body, key })).data.id;
}

function createBody(): object {
  const isAsync = faults.has('queue is down') || faults.has('combination');
  return {
    ...(isAsync && { async: true }),
    ...(faults.has('combination') && { stream: true }),
    ...(faults.has('selector') && { selectedOutputs: ['Ghost.x'] }),
    ...(faults.has('unknown field') && { colour: 'red' }),
    ...(faults.has('large body') && { input: { text: 'x'.repeat(AUTHENTICATED_LIMITS.bytes) } }),
  };
}

function createHeaders(): { [name: string]: string } {
  return {
    'X-Run-Id': faults.size === 0 || faults.has('used id') ? usedId : crypto.randomUUID(),
    ...(faults.has('long chain') && { 'X-Sim-Via': Array<string>(25).fill('w').join(',') }),
    ...(faults.has('narrow scope') && { Authorization: 'Bearer reader' }),
    ...(faults.has('XML body') && { 'Content-Type': 'application/xml' }),
  };
}

/** Sends a request that is valid apart from the faults. */
function send(): Promise<ParsedResponse<unknown>> {
  const workflowId = faults.has('draft') ? draftId : deployedId;
  const id = faults.has('foreign workflow') ? foreignWorkflowId : workflowId;
  const validKey = faults.has('narrow scope') ? null : api.key;
  const key = faults.has('bad key') ? 'sk-heddle-guess' : validKey;
  const isBroken = faults.has('broken body') || faults.has('XML body');
  const raw = JSON.stringify(createBody()) + (isBroken ? '}' : '');
  return api.call('POST', `/api/v2/workflows/${id}/execute`, { key, headers: createHeaders(), rawBody: raw });
}

interface Refusal {
  /** The position of the check in the order of checks. Refusals with the same position are alternatives. */
  stage: number;
  fault: Fault;
  status: number;
  code: string;
  message: string;
  details?: unknown;
  headers?: { [name: string]: string };
  /** True if the run id stays reserved after the refusal. */
  keepsReservation?: true;
}

const retryAfter = '1970-01-01T00:01:00.000Z';
const LIMIT_HEADERS = {
  'retry-after': '60',
  'x-ratelimit-limit': '2',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '1970-01-01T00:01:30.000Z',
};
const RETRY_HEADERS = { 'retry-after': '5' };
const RATE_LIMITED = {
  ...{ code: 'RATE_LIMITED', message: 'API rate limit exceeded' },
  ...{ status: 429, headers: LIMIT_HEADERS },
};
const HEADROOM_MESSAGE = 'The remaining usage limit does not cover the run';
const UNAVAILABLE = { code: 'SERVICE_UNAVAILABLE', status: 503 };
const PORT_DOWN = { ...UNAVAILABLE, message: 'Service temporarily unavailable', headers: RETRY_HEADERS };
const OVER_LIMIT = { code: 'USAGE_LIMIT_EXCEEDED', status: 402 };

/** The refusals of the checks, in the order of the checks. */
const REFUSALS: readonly Refusal[] = [
  { stage: 1, fault: 'address', ...RATE_LIMITED, details: { retryAfter } },
  {
    ...{ stage: 2, fault: 'bad key', status: 401, code: 'UNAUTHORIZED', message: 'Invalid API key' },
    headers: { 'www-authenticate': 'ApiKey realm="Heddle API", header="x-api-key"' },
  },
  { stage: 2, fault: 'keys are down', ...PORT_DOWN },
  { stage: 3, fault: 'operation', ...RATE_LIMITED, details: { retryAfter } },
  {
    ...{ stage: 4, fault: 'narrow scope', status: 403, code: 'FORBIDDEN' },
    ...{ message: 'This operation needs the scope api:write', details: { code: 'INSUFFICIENT_SCOPE' } },
  },
  {
    ...{ stage: 5, fault: 'long chain', status: 409, code: 'CONFLICT' },
    message: 'Maximum workflow call chain depth (25) exceeded.',
    details: { code: 'CALL_CHAIN_DEPTH_EXCEEDED' },
  },
  {
    ...{ stage: 7, fault: 'broken body', status: 400, code: 'BAD_REQUEST' },
    message: 'Request body must be valid JSON',
  },
  {
    ...{ stage: 7, fault: 'large body', status: 413, code: 'PAYLOAD_TOO_LARGE' },
    message: 'Request body is too large',
  },
  {
    ...{ stage: 7, fault: 'XML body', status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' },
    message: 'Request body must be sent as application/json',
  },
  {
    ...{ stage: 7, fault: 'unknown field', status: 400, code: 'BAD_REQUEST' },
    message: 'Unrecognized key: "colour"',
    details: [
      { code: 'unrecognized_keys', path: [], keys: ['colour'], message: 'Unrecognized key: "colour"' },
    ],
  },
  {
    ...{ stage: 8, fault: 'no capacity', status: 429, code: 'RATE_LIMITED', headers: RETRY_HEADERS },
    message: 'Server is at capacity. Please retry shortly.',
  },
  {
    ...{ stage: 9, fault: 'combination', status: 400, code: 'BAD_REQUEST' },
    message: 'async and stream cannot be combined',
  },
  {
    ...{ stage: 10, fault: 'foreign workflow', status: 404, code: 'NOT_FOUND' },
    message: 'Workflow not found',
  },
  {
    ...{ stage: 11, fault: 'used id', status: 409, code: 'CONFLICT', headers: { 'x-run-id': usedId } },
    ...{ message: 'Run ID has already been used', details: { code: 'RUN_ID_CONFLICT', runId: usedId } },
  },
  { stage: 11, fault: 'reservations are down', ...PORT_DOWN },
  {
    ...{ stage: 12.1, fault: 'draft', status: 403, code: 'FORBIDDEN' },
    ...{ message: 'Workflow is not deployed', details: { code: 'WORKFLOW_NOT_DEPLOYED' } },
  },
  {
    ...{ stage: 12.2, fault: 'suspended', status: 403, code: 'FORBIDDEN' },
    message: 'The account is suspended',
  },
  { stage: 12.2, fault: 'limit', ...OVER_LIMIT, message: 'Usage limit reached' },
  {
    ...{ stage: 12.2, fault: 'payer', ...OVER_LIMIT, message: HEADROOM_MESSAGE },
    details: { code: 'EXECUTION_PAYER_HEADROOM_EXHAUSTED' },
  },
  {
    ...{ stage: 12.2, fault: 'member', ...OVER_LIMIT, message: HEADROOM_MESSAGE },
    details: { code: 'EXECUTION_MEMBER_HEADROOM_EXHAUSTED' },
  },
  { stage: 12.3, fault: 'sync', ...RATE_LIMITED, details: { code: 'RATE_LIMIT_EXCEEDED', retryAfter } },
  {
    ...{ stage: 12.4, fault: 'no slot', status: 429, code: 'RATE_LIMITED', headers: RETRY_HEADERS },
    message: 'Too many runs are in flight. Please retry shortly.',
    details: { code: 'EXECUTION_CONCURRENCY_LIMIT' },
  },
  {
    ...{ stage: 12.4, fault: 'concurrency is down', ...UNAVAILABLE, headers: RETRY_HEADERS },
    message: 'Runs cannot be accepted at the moment. Please retry shortly.',
    details: { code: 'SERVICE_OVERLOADED' },
  },
  {
    ...{ stage: 13, fault: 'queue is down', ...UNAVAILABLE, keepsReservation: true },
    message: 'The run may or may not have been accepted',
    details: { code: 'ASYNC_ENQUEUE_AMBIGUOUS', runId: expect.any(String) },
    headers: { 'x-run-id': expect.any(String) as string },
  },
  {
    ...{ stage: 15, fault: 'selector', status: 400, code: 'BAD_REQUEST' },
    message:
      'Invalid selectedOutputs: "Ghost.x" names no block. Available blocks: "Reply", "Start", "Words".',
  },
];

/** Sends a request with these faults. Returns the response, and the row counts of the tables before and after. */
async function sendWithFaults(...requestFaults: Fault[]) {
  for (const fault of requestFaults) faults.add(fault);
  const stream = faults.has('no capacity') ? await holdSlot() : undefined;
  const rowsBefore = api.countRows();
  const response = await send();
  const rowsAfter = api.countRows();
  faults.clear();
  await stream?.body?.cancel();
  return { response, rowsBefore, rowsAfter };
}

/** Opens a stream, which holds the only slot until it is cancelled. */
async function holdSlot(): Promise<Response> {
  const otherFaults = [...faults];
  faults.clear();
  const response = await api.fetch('POST', `/api/v2/workflows/${longId}/execute`, { body: { stream: true } });
  const runId = response.headers.get('x-run-id') ?? '';
  await waitForStatus(api, `/api/v2/workflows/${longId}/runs/${runId}`, 'paused');
  // Waits until the run has recorded everything before its timer.
  await api.engine.getLogs(runId);
  for (const fault of otherFaults) faults.add(fault);
  return response;
}

function expectRefusal(response: ParsedResponse<unknown>, refusal: Refusal): void {
  const { status, code, message, details, headers = {} } = refusal;
  expect({ status: response.status, ...errorIn(response.body) }).toEqual({
    ...{ status, code, message },
    ...(details !== undefined && { details }),
  });
  const limitHeaderNames = Object.keys(LIMIT_HEADERS).filter((name) => response.headers.has(name));
  expect(limitHeaderNames.toSorted()).toEqual(
    Object.keys(LIMIT_HEADERS)
      .filter((name) => name in headers)
      .toSorted(),
  );
  for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toEqual(value);
}

const CASES = REFUSALS.map((refusal) => [refusal.fault, refusal] as const);

describe.each(CASES)('a request with the fault "%s"', (fault, refusal) => {
  it('is refused as declared, and stores at most a reservation', async () => {
    const { response, rowsBefore, rowsAfter } = await sendWithFaults(fault);
    expectRefusal(response, refusal);
    const reservedRows = refusal.keepsReservation ? { claims: (rowsBefore['claims'] ?? 0) + 1 } : {};
    expect(rowsAfter).toEqual({ ...rowsBefore, ...reservedRows });
  });

  const laterRefusals = REFUSALS.filter(({ stage }) => stage > refusal.stage);
  // An asynchronous request with selected outputs is refused earlier, as a combination.
  const combinableRefusals = laterRefusals.filter(
    ({ fault: laterFault }) => !(fault === 'queue is down' && laterFault === 'selector'),
  );
  it(`gets this refusal even with one of ${combinableRefusals.length} faults of later checks`, async () => {
    for (const laterRefusal of combinableRefusals) {
      const { response } = await sendWithFaults(fault, laterRefusal.fault);
      expectRefusal(response, refusal);
    }
  });
});
