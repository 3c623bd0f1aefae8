import { createHash } from 'node:crypto';
import { placeKey } from '@heddle/core/run';
import type { Place } from '@heddle/core/run';

/** Databases limit the length of an index key, but block ids can have any length. */
const MAX_PLACE_CHARS = 200;

/** Returns the string that identifies an execution of a block in the table of steps. */
export function stepPlace(place: Place): string {
  const key = placeKey(place);
  return key.length <= MAX_PLACE_CHARS ? key : `#${createHash('sha256').update(key).digest('base64url')}`;
}
