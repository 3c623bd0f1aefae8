import { ApiError, badRequest, conflict } from '../../errors.ts';
import type { ExecuteBody } from './schemas.ts';

/** How many workflows may call each other over HTTP in a chain. */
const DEEPEST_CHAIN = 25;
/** Header with the ids of the workflows that have called each other so far. */
const CHAIN_HEADER = 'x-heddle-via';
/** Header by which a client says that it knows the events of agents. */
const PROTOCOL_HEADER = 'x-heddle-stream-protocol';
const AGENT_EVENTS = 'agent-events-v1';

/** Throws 409 for a call that comes from a chain that is as long as one may be. */
export function expectShortChain(headers: Headers): void {
  const chain = (headers.get(CHAIN_HEADER) ?? '').split(',').filter((id) => id.trim() !== '');
  if (chain.length < DEEPEST_CHAIN) return;
  throw conflict(
    `Maximum workflow call chain depth (${DEEPEST_CHAIN}) exceeded.`,
    'CALL_CHAIN_DEPTH_EXCEEDED',
  );
}

/** What may not be combined, in the order in which it is told. */
const RULES: readonly (readonly [
  broken: (body: ExecuteBody, headers: Headers) => boolean,
  message: string,
])[] = [
  [(body) => isManual(body) && body.async, 'Manual execution does not support async mode'],
  [
    (body) => usesMock(body) && body.input !== undefined,
    'input and run.entry.useMockPayload cannot be combined',
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
    `includeThinking and includeToolCalls require the X-Heddle-Stream-Protocol: ${AGENT_EVENTS} header`,
  ],
];

/** Throws 400 for options that cannot be combined. */
export function expectCombination(body: ExecuteBody, headers: Headers): void {
  const rule = RULES.find(([broken]) => broken(body, headers));
  if (rule) throw badRequest(rule[1]);
}

/** Throws what a client that has gone away before its run began is answered with, in case somebody reads it. */
export function expectPresent(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError(499, 'Client cancelled request');
}

export function isManual({ run }: ExecuteBody): boolean {
  return run?.source === 'manual';
}

export function knowsAgentEvents(headers: Headers): boolean {
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
    stopAfterBlockId !== undefined
  );
}
