import * as z from 'zod';

// Schemas that several areas use.

export const timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });

export const workspaceId = z.string().min(1).max(128);

export const workflowPath = z.strictObject({ workflowId: z.string().min(1) });

export const noQuery = z.strictObject({});

/** Any JSON value. */
export const json = z.unknown();

export const emptyBody = z.strictObject({});

/** Returns the schema of the query parameter `limit`: the maximum number of items in a page. */
export function pageLimit(maximum: number, defaultLimit: number) {
  return z
    .int()
    .min(1, 'limit must be at least 1')
    .max(maximum, `limit cannot exceed ${maximum}`)
    .default(defaultLimit);
}

export const cursor = z.string().min(1).optional();

export const order = z.enum(['asc', 'desc']);
