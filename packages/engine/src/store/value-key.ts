import { createHash } from 'node:crypto';

/** Returns the key of a value: `sha256:<hex>` of its JSON text. */
export function valueKey(json: string): string {
  return `sha256:${createHash('sha256').update(json).digest('hex')}`;
}

const KEY_PATTERN = /sha256:[0-9a-f]{64}/g;

/** Returns the value keys in a text, without duplicates. */
export function valueKeysIn(text: string): string[] {
  return text.includes('sha256:') ? [...new Set(text.match(KEY_PATTERN))] : [];
}
