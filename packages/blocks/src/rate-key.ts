import { createHmac } from 'node:crypto';

/**
 * Returns the name of a key in the store of rates. A key at another address has other rates. The key itself is the key of the
 * hash, and cannot be found from it.
 */
export function rateKeyOf(secret: string | undefined, service: string, address: string): string {
  return createHmac('sha256', secret ?? '')
    .update(JSON.stringify(['rates', service, address]))
    .digest('hex');
}
