import { pageLimit, timestamp, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';

const limit = pageLimit(100, 50);
const cursor = z.string().min(1).max(4096).optional();

export const emptyObject = z.strictObject({});
export const workspacePath = z.strictObject({ workspaceId });

export const listQuery = z.strictObject({
  sortBy: z.enum(['name', 'createdAt', 'updatedAt']).default('createdAt'),
  sortOrder: z.enum(['asc', 'desc']).default('desc'),
  limit,
  cursor,
});

export const membersQuery = z.strictObject({ limit, cursor });

const filterValue = z.string().min(1).max(255).optional();

export const eventsQuery = z.strictObject({
  action: filterValue,
  resourceType: filterValue,
  resourceId: filterValue,
  startDate: timestamp.optional(),
  endDate: timestamp.optional(),
  limit,
  cursor,
});

export const keysQuery = z.strictObject({ limit, cursor });
export const keyPath = z.strictObject({ workspaceId, keyId: z.string().min(1).max(128) });

export const createKeyBody = z.strictObject({
  name: z.string().regex(/\S/, 'name is required').trim().min(1).max(100),
  expiresAt: timestamp.optional().meta({ description: 'Default: it does not expire' }),
});

/** The time and the id of the last event, or key, of a page. */
export const createdAtPosition = z.tuple([z.string(), z.string()]);

/** The sort value and the id of the last workspace of a page. */
export const workspacePosition = z.tuple([z.string(), z.string()]);
/** The email address of the last member of a page. */
export const memberPosition = z.tuple([z.string()]);

export const workspace = z.object({
  id: z.string(),
  name: z.string(),
  color: z.string().meta({ description: 'CSS colour that is derived from the id' }),
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

export const auditEvent = z.object({
  id: z.string(),
  workspaceId: z.string(),
  action: z.string(),
  resourceType: z.string(),
  resourceId: z.string(),
  actorName: z.string().nullable().meta({ description: 'Null: no user acted, or the user is unknown' }),
  actorEmail: z.string().nullable(),
  apiKeyName: z.string().nullable().meta({ description: 'Null: the credential was not an API key' }),
  isConfirmed: z.boolean().meta({
    description: 'False: the action has not ended yet, or its process ended before the outcome was known',
  }),
  metadata: z.record(z.string(), z.unknown()),
  createdAt: timestamp,
});

export const apiKey = z.object({
  id: z.string(),
  name: z.string(),
  hint: z.string().meta({ description: 'The last characters of the key' }),
  createdAt: timestamp,
  expiresAt: timestamp.nullable(),
  lastUsedAt: timestamp.nullable(),
});

export const createdKey = apiKey.extend({ key: z.string() });
export const revokedKey = z.object({ id: z.string(), revoked: z.literal(true) });
