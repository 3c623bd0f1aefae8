import { createHash } from 'node:crypto';

/** The key of a value: `sha256:<hex>` over its JSON text. */
export function valueKey(json: string): string {
  return `sha256:${createHash('sha256').update(json).digest('hex')}`;
}
