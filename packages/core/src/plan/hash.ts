import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Json } from '../json.ts';
import { canonicalJson } from './canonical.ts';

/** `sha256:<hex>` of the value's canonical JSON. */
export function contentHash(value: Json): string {
  return `sha256:${bytesToHex(sha256(utf8ToBytes(canonicalJson(value))))}`;
}
