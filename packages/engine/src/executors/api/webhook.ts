import { createHash, createHmac } from 'node:crypto';
import { checkHeaders } from '../header-rules.ts';
import type { EngineContext, EngineExecutor } from '../services.ts';
import { asText } from '../values.ts';
import { sendOnce } from './api.ts';
import { bodyOf, configInvalidError, hasHeader, pairsOf, urlOf, withCallChain } from './request.ts';
import type { ApiRequest } from './request.ts';
import { apiOutput } from './response.ts';

const DELIVERY_ID_CHARS = 32;

/** Sends a POST request, signed if the block has a secret: output `{data, status, headers}`. */
export const webhookExecutor: EngineExecutor = {
  types: ['webhook_request'],
  class: 'effect',
  async execute(context) {
    const result = await sendOnce(context, webhookRequest(context));
    if ('failure' in result) throw result.failure;
    return { output: apiOutput(result.response) };
  },
};

/**
 * Returns the request. All attempts of the block send the same delivery id. The signature covers the timestamp and the
 * body. Throws BLOCK_CONFIG_INVALID.
 */
function webhookRequest(context: EngineContext): ApiRequest {
  const url = asText(context.field('url')).trim();
  if (url === '') throw configInvalidError('The webhook has no URL: fill in "url".');
  const body = bodyOf(context)?.text ?? '';
  const timestamp = String(context.clock.now());
  const secret = asText(context.field('secret'));
  const defaultHeaders: [string, string][] = [
    ['Content-Type', 'application/json'],
    ['X-Webhook-Timestamp', timestamp],
    ['X-Delivery-ID', deliveryIdOf(context.idempotencyKey)],
    ...(secret === '' ? [] : [signatureHeader(secret, timestamp, body)]),
  ];
  const authoredHeaders = pairsOf(context, 'headers');
  const remainingDefaults = defaultHeaders.filter(([name]) => !hasHeader(authoredHeaders, name));
  const headers = [...authoredHeaders, ...remainingDefaults];
  checkHeaders(headers, 'request');
  const sentHeaders = withCallChain(headers, context.services.run.callChain);
  return { url: urlOf(url, []), method: 'POST', headers: sentHeaders, body, hasIdempotencyKey: true };
}

function signatureHeader(secret: string, timestamp: string, body: string): [string, string] {
  const mac = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return ['X-Webhook-Signature', `t=${timestamp},v1=${mac}`];
}

/** Returns a hash of the key: the key contains the id of the block, which may not be valid in a header. */
function deliveryIdOf(idempotencyKey: string): string {
  return createHash('sha256').update(idempotencyKey).digest('hex').slice(0, DELIVERY_ID_CHARS);
}
