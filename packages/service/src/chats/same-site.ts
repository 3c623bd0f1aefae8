import { ApiError } from '@heddle/api';

/**
 * Throws 403 for a request from a page of another site. Throws 415 for a body that is not JSON, which such a page could
 * send without a CORS preflight.
 */
export function requireSameSite({ headers }: Request): void {
  const contentType = headers.get('content-type') ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(contentType))
    throw new ApiError(415, 'The body must be sent as application/json');
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw new ApiError(403, 'Pages of other sites cannot send this request');
}
