import { isChildRunId } from '@heddle/engine';
import { unauthorized } from '../../auth/authorize.ts';
import type { Principal } from '../../auth/principal.ts';
import { ApiError, badRequest } from '../../errors.ts';
import { RUN_ID } from './schemas.ts';
import type { ExecuteBody } from './schemas.ts';

/** Header by which a client says that it knows the events of agents. */
const PROTOCOL_HEADER = 'x-sim-stream-protocol';
export const AGENT_EVENTS = 'agent-events-v1';

/** What may not be combined, in the order in which it is told. */
const RULES: readonly (readonly [
  broken: (body: ExecuteBody, headers: Headers, principal: Principal) => boolean,
  message: string,
])[] = [
  [(body) => isManual(body) && body.async, 'Manual execution does not support async mode'],
  [
    (body) => usesMock(body) && body.input !== undefined,
    'input and run.entry.useMockPayload cannot be combined',
  ],
  [
    (body, _headers, { anonymous = false }) => body.async && anonymous,
    'Async execution requires an OAuth access token or API key',
  ],
  [
    ({ selectedOutputs, stopAfterBlockId }, _headers, { anonymous = false }) =>
      anonymous && (selectedOutputs !== undefined || stopAfterBlockId !== undefined),
    'selectedOutputs and stopAfterBlockId require an OAuth access token or API key',
  ],
  [(body) => body.async && body.stream, 'async and stream cannot be combined'],
  [
    (body) => body.executionTimeoutSeconds !== undefined && !body.async,
    'executionTimeoutSeconds is supported only for async execution',
  ],
  [
    (body) => body.async && isShaped(body),
    'Async execution does not support streaming or output-shaping options',
  ],
  [
    (body) => (body.includeThinking || body.includeToolCalls) && !body.stream,
    'includeThinking and includeToolCalls require stream: true',
  ],
  [
    (body, headers) => (body.includeThinking || body.includeToolCalls) && !knowsAgentEvents(headers),
    `includeThinking and includeToolCalls require the X-Sim-Stream-Protocol: ${AGENT_EVENTS} header`,
  ],
];

/** Throws 400 for options that cannot be combined, 401 for a draft that nobody runs. */
export function expectCombination(body: ExecuteBody, headers: Headers, principal: Principal): void {
  if (isManual(body) && principal.anonymous)
    throw unauthorized('Manual execution requires an OAuth access token or personal API key');
  const rule = RULES.find(([broken]) => broken(body, headers, principal));
  if (rule) throw badRequest(rule[1]);
}

/** Throws 400 for an id of a run that has another form than ids have; whether it is used is another question. */
export function expectRunIdForm(headers: Headers): void {
  const given = headers.get('x-run-id');
  if (given === null) return;
  if (!RUN_ID.test(given))
    throw badRequest('X-Run-Id has 1 to 128 characters out of letters, digits and . _ : -');
  if (given === '.' || given === '..')
    throw badRequest(`X-Run-Id cannot be "${given}": no address could name the run`);
  if (isChildRunId(given))
    throw badRequest(
      'X-Run-Id cannot be a UUID of version 8: child runs have those. Take one of version 4 or 7',
    );
}

/** Throws what a client that has gone away before its run began is answered with, in case somebody reads it. */
export function expectPresent(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError(499, 'Client cancelled request');
}

export function isManual({ run }: ExecuteBody): boolean {
  return run?.source === 'manual';
}

/** What the client wants of the events of agents; undefined: it does not know them. */
export function agentEventsOf(
  headers: Headers,
  { includeThinking, includeToolCalls }: ExecuteBody,
): { thinking: boolean; tools: boolean } | undefined {
  return knowsAgentEvents(headers) ? { thinking: includeThinking, tools: includeToolCalls } : undefined;
}

function knowsAgentEvents(headers: Headers): boolean {
  const named = (headers.get(PROTOCOL_HEADER) ?? '').toLowerCase().split(',');
  return named.some((name) => name.trim() === AGENT_EVENTS);
}

function usesMock({ run }: ExecuteBody): boolean {
  return run?.source === 'manual' && run.entry?.type === 'trigger' && run.entry.useMockPayload === true;
}

function isShaped(body: ExecuteBody): boolean {
  const { selectedOutputs = [], stopAfterBlockId } = body;
  return (
    selectedOutputs.length > 0 ||
    body.includeThinking ||
    body.includeToolCalls ||
    body.includeFileBase64 !== undefined ||
    body.base64MaxBytes !== undefined ||
    stopAfterBlockId !== undefined
  );
}
