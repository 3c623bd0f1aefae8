import { createHmac } from 'node:crypto';

/**
 * Returns the name of a key in the store of rates. A key at another address has other rates. The key is the secret of an HMAC, so
 * it cannot be derived from the name.
 */
export function rateKeyOf(secret: string | undefined, service: string, address: string): string {
  return createHmac('sha256', secret ?? '')
    .update(JSON.stringify(['rates', service, address]))
    .digest('hex');
}
