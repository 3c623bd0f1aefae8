import * as z from 'zod';

/** Shapes that several areas use. */
export const timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });

export const workspaceId = z.string().min(1).max(128);

export const workflowPath = z.strictObject({ workflowId: z.string().min(1) });

export const noQuery = z.strictObject({});

/** Anything that JSON can say. */
export const json = z.unknown();

export const emptyBody = z.strictObject({});

/** How many items a page may have. */
export function pageLimit(most: number, usual: number) {
  return z.int().min(1, 'limit must be at least 1').max(most, `limit cannot exceed ${most}`).default(usual);
}

export const cursor = z.string().min(1).optional();

export const order = z.enum(['asc', 'desc']);
