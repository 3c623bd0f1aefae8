import { pageLimit, timestamp, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';

const limit = pageLimit(100, 50);
const cursor = z.string().min(1).max(4096).optional();

export const none = z.strictObject({});
export const workspacePath = z.strictObject({ workspaceId });

export const listQuery = z.strictObject({
  sortBy: z.enum(['name', 'createdAt', 'updatedAt']).default('createdAt'),
  sortOrder: z.enum(['asc', 'desc']).default('desc'),
  limit,
  cursor,
});

export const membersQuery = z.strictObject({ limit, cursor });

/** The sorted value and the id of the last workspace of a page. */
export const workspacePosition = z.tuple([z.string(), z.string()]);
/** The address of the last member of a page. */
export const memberPosition = z.tuple([z.string()]);

export const workspace = z.object({
  id: z.string(),
  name: z.string(),
  color: z.string().meta({ description: 'CSS colour, which follows from the id' }),
  logoUrl: z.string().nullable(),
  memberCount: z.int().min(0),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const member = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  image: z.string().nullable(),
  role: z.enum(['admin', 'write', 'read']),
  isExternal: z.boolean(),
  joinedAt: timestamp,
});
