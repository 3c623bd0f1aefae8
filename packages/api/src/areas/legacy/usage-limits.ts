import * as z from 'zod';
import type { LimitState } from '../../admission/limiter.ts';
import type { AreaContext } from '../../context.ts';
import { AUTHENTICATED_PRINCIPALS, accountOf } from '../../auth/principal.ts';
import { operationFactory } from '../../operation.ts';
import { noResource } from '../../resource.ts';
import { noQuery, timestamp } from '../common-schemas.ts';

const bucket = z.object({
  isLimited: z.boolean(),
  requestsPerMinute: z.number().nullable(),
  maxBurst: z.int().nullable(),
  remaining: z.int().nullable(),
  resetAt: timestamp.nullable(),
});

const limits = z.object({
  success: z.boolean(),
  rateLimit: z.object({ sync: bucket, async: bucket, authType: z.literal('api') }),
  usage: z
    .object({ currentPeriodCost: z.number(), limit: z.number().nullable(), plan: z.string().nullable() })
    .nullable(),
});

export const getUsageLimits = operationFactory<AreaContext>()({
  id: 'getUsageLimits',
  method: 'GET',
  path: '/api/users/me/usage-limits',
  tag: 'Legacy API',
  summary: 'Get the rate limits and the usage of the caller',
  legacy: true,
  principals: AUTHENTICATED_PRINCIPALS,
  resource: noResource,
  scope: 'api:read',
  role: 'read',
  params: z.strictObject({}),
  query: noQuery,
  success: [
    { status: 200, schema: limits, description: 'Rate limits of executions, and usage if it is counted' },
  ],
  errors: [400, 401, 403, 429],
  async handle({ limiter, usage }, { principal }) {
    const account = accountOf(principal);
    const [sync, async] = await Promise.all([
      limiter.peek?.('sync', account),
      limiter.peek?.('async', account),
    ]);
    const { userId, workspaceId } = principal;
    const summary = (await usage?.getSummary?.({ userId, workspaceId })) ?? null;
    const rateLimit = { sync: bucketOf(sync), async: bucketOf(async), authType: 'api' };
    return { raw: Response.json({ success: true, rateLimit, usage: summary }) };
  },
});

/** Returns the limit in the format of the response. An undefined `state` means that there is no limit. */
function bucketOf(state: LimitState | undefined): z.output<typeof bucket> {
  if (!state)
    return { isLimited: false, requestsPerMinute: null, maxBurst: null, remaining: null, resetAt: null };
  return {
    isLimited: !state.allowed,
    requestsPerMinute: state.perMinute ?? null,
    maxBurst: state.limit,
    remaining: state.remaining,
    resetAt: new Date(state.resetAtMs).toISOString(),
  };
}
