import { badRequest, conflict } from '../errors.ts';

/** Maximum length of a chain of workflows that call each other over HTTP. */
const MAX_CHAIN_LENGTH = 25;
/** Request header with the ids of the workflows whose calls led to this request. `api` blocks send it. */
const CHAIN_HEADER = 'x-sim-via';
const MAX_ID_LENGTH = 1024;

/** Returns the call chain of a request. Throws 409 for a chain at its limit, 400 for an id that is too long. */
export function callChainOf(headers: Headers): string[] {
  const ids = (headers.get(CHAIN_HEADER) ?? '').split(',').map((id) => id.trim());
  const chain = ids.filter((id) => id !== '');
  if (chain.length >= MAX_CHAIN_LENGTH) {
    throw conflict(
      `Maximum workflow call chain depth (${MAX_CHAIN_LENGTH}) exceeded.`,
      'CALL_CHAIN_DEPTH_EXCEEDED',
    );
  }
  // Long ids are refused because the chain is stored with the run and with each of its children.
  if (chain.every((id) => id.length <= MAX_ID_LENGTH)) return chain;
  throw badRequest(`An id in X-Sim-Via must have at most ${MAX_ID_LENGTH} characters`);
}
