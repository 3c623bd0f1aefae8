import { isChildRunId } from '@heddle/engine';
import type { Principal } from '../../auth/principal.ts';
import { badRequest, clientClosedRequest, forbidden, unauthorized } from '../../errors.ts';
import type { Definition } from '../../ports.ts';
import { RUN_ID_PATTERN } from './schemas.ts';
import type { ExecuteBody } from './schemas.ts';

/** The header of a client that supports agent events. */
const PROTOCOL_HEADER = 'x-sim-stream-protocol';
export const AGENT_EVENTS_PROTOCOL = 'agent-events-v1';

/** The first combination that matches is reported. */
const FORBIDDEN_COMBINATIONS: readonly (readonly [
  isForbidden: (body: ExecuteBody, headers: Headers, principal: Principal) => boolean,
  message: string,
])[] = [
  [(body) => isManual(body) && body.async, 'Manual execution does not support async mode'],
  [
    (body) => usesMockPayload(body) && body.input !== undefined,
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
    (body) => body.async && shapesOutput(body),
    'Async execution does not support streaming or output-shaping options',
  ],
  [
    (body) => (body.includeThinking || body.includeToolCalls) && !body.stream,
    'includeThinking and includeToolCalls require stream: true',
  ],
  [
    (body, headers) => (body.includeThinking || body.includeToolCalls) && !supportsAgentEvents(headers),
    `includeThinking and includeToolCalls require the X-Sim-Stream-Protocol: ${AGENT_EVENTS_PROTOCOL} header`,
  ],
];

/** Throws 400 for options that cannot be combined, 401 for a manual execution without a credential. */
export function requireValidCombination(body: ExecuteBody, headers: Headers, principal: Principal): void {
  if (isManual(body) && principal.anonymous)
    throw unauthorized('Manual execution requires an OAuth access token or personal API key');
  const combination = FORBIDDEN_COMBINATIONS.find(([isForbidden]) => isForbidden(body, headers, principal));
  if (combination) throw badRequest(combination[1]);
}

/** Returns the live version. Throws 403 for a workflow that is not deployed. */
export function requireLiveVersion({ liveVersion }: Pick<Definition, 'liveVersion'>): number {
  if (liveVersion !== undefined) return liveVersion;
  throw forbidden('WORKFLOW_NOT_DEPLOYED', 'Workflow is not deployed');
}

/** Throws 400 for a malformed `X-Run-Id`. Does not check whether the id is used. */
export function requireValidRunId(headers: Headers): void {
  const runId = headers.get('x-run-id');
  if (runId === null) return;
  if (!RUN_ID_PATTERN.test(runId)) throw badRequest('X-Run-Id must be 1 to 128 letters, digits and . _ : -');
  if (runId === '.' || runId === '..')
    throw badRequest(`X-Run-Id cannot be "${runId}": no URL could name the run`);
  if (isChildRunId(runId))
    throw badRequest('X-Run-Id cannot be a UUID of version 8: child runs use it. Use version 4 or 7');
}

/** Throws 499 when the client has closed the connection. */
export function requireConnected(signal: AbortSignal): void {
  if (signal.aborted) throw clientClosedRequest();
}

export function isManual({ run }: ExecuteBody): boolean {
  return run?.source === 'manual';
}

/** Returns the agent events that the client wants; undefined when it does not support them. */
export function agentEventsOf(
  headers: Headers,
  { includeThinking, includeToolCalls }: ExecuteBody,
): { thinking: boolean; tools: boolean } | undefined {
  return supportsAgentEvents(headers) ? { thinking: includeThinking, tools: includeToolCalls } : undefined;
}

function supportsAgentEvents(headers: Headers): boolean {
  const protocols = (headers.get(PROTOCOL_HEADER) ?? '').toLowerCase().split(',');
  return protocols.some((name) => name.trim() === AGENT_EVENTS_PROTOCOL);
}

function usesMockPayload({ run }: ExecuteBody): boolean {
  return run?.source === 'manual' && run.entry?.type === 'trigger' && run.entry.useMockPayload === true;
}

function shapesOutput(body: ExecuteBody): boolean {
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
