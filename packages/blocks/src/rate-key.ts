import { createHmac } from 'node:crypto';

/**
 * Returns the name of a provider's key in the store of rates. The same key at another base URL has separate rates. The
 * key is the secret of an HMAC, so the name does not reveal it.
 */
export function rateKeyOf(secret: string | undefined, service: string, baseUrl: string): string {
  return createHmac('sha256', secret ?? '')
    .update(JSON.stringify(['rates', service, baseUrl]))
    .digest('hex');
}
