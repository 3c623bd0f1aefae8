import { apply, define, NativeUint8Array } from '../primordials.ts';
import { bytesOf } from '../web/bytes.ts';

/** Random bytes fetched at once: Python asks for a few at a time, and every message counts. */
const POOL_BYTES = 16_384;
const MOST_FROM_POOL = 256;

type GetRandomValues = <T extends ArrayBufferView>(view: T) => T;

/** Has `crypto` give small amounts from a pool; no byte of it is given twice. */
export function poolRandomValues(): void {
  const { crypto } = globalThis as unknown as { crypto: { getRandomValues: GetRandomValues } };
  const { getRandomValues } = crypto;
  const pool = new NativeUint8Array(POOL_BYTES);
  let next = POOL_BYTES;
  const pooled: GetRandomValues = (view) => {
    const bytes = bytesOf(view, 'The argument of getRandomValues()');
    if (bytes.length > MOST_FROM_POOL) return apply(getRandomValues, crypto, [view]) as typeof view;
    if (next + bytes.length > POOL_BYTES) {
      apply(getRandomValues, crypto, [pool]);
      next = 0;
    }
    for (let i = 0; i < bytes.length; i++) {
      bytes[i] = pool[next] as number;
      pool[next++] = 0;
    }
    return view;
  };
  define(crypto, 'getRandomValues', pooled);
}
