import { BlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { integerField } from './read-fields.ts';

/** Returns the error of a source that cannot be polled now. The message is shown to users. */
export function feedError(
  message: string,
  options: { retryAfterMs?: number; cause?: unknown } = {},
): BlockError {
  return new BlockError('FEED_FAILED', message, { retryable: true, ...options });
}

const MAX_MINUTES = 1440;
/** Maximum number of existing items that start runs at the first poll. */
const MAX_BACKFILL = 100;

/** The fields of every feed trigger: a trigger whose source is polled. */
export const feedFields = {
  pollMinutes: integerField(1, MAX_MINUTES)
    .default(5)
    .describe('The number of minutes between two polls, from 1 to 1,440. Default: 5.'),
  backfill: integerField(0, MAX_BACKFILL)
    .default(0)
    .describe(
      'How many existing items start runs when the trigger is activated: the newest ones, up to 100. Default: 0.',
    ),
};

/** The common configuration of feeds. */
export interface FeedConfig {
  everyMs: number;
  backfill: number;
}

/** Returns the common configuration from the fields of a feed. */
export function feedConfigOf({
  pollMinutes,
  backfill,
}: {
  pollMinutes: number;
  backfill: number;
}): FeedConfig & JsonObject {
  return { everyMs: pollMinutes * 60_000, backfill };
}
