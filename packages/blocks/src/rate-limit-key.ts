import { createHmac } from 'node:crypto';

/**
 * Returns the id of the rate limit for the key of a service or model provider. The same key at another
 * base URL has a separate rate limit. The id is an HMAC with the key as its secret, so it does not reveal the key.
 */
export function rateLimitKeyOf(secret: string | undefined, service: string, baseUrl: string): string {
  return createHmac('sha256', secret ?? '')
    .update(JSON.stringify(['rates', service, baseUrl]))
    .digest('hex');
}
