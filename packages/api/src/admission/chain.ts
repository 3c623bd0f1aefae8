import { conflict } from '../errors.ts';

/** How many workflows may call each other over HTTP in a chain. */
const DEEPEST_CHAIN = 25;
/** Header with the ids of the workflows that have called each other so far. */
const CHAIN_HEADER = 'x-heddle-via';

/** Throws 409 for a call that comes from a chain that is as long as one may be. */
export function expectShortChain(headers: Headers): void {
  const chain = (headers.get(CHAIN_HEADER) ?? '').split(',').filter((id) => id.trim() !== '');
  if (chain.length < DEEPEST_CHAIN) return;
  throw conflict(
    `Maximum workflow call chain depth (${DEEPEST_CHAIN}) exceeded.`,
    'CALL_CHAIN_DEPTH_EXCEEDED',
  );
}
