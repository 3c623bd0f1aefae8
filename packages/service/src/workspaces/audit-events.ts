import type { Kysely } from 'kysely';
import { readPage } from '../paging.ts';
import type { WorkspaceTables } from './store.ts';

/** Filters of the list of events. */
export interface EventFilters {
  workspaceId: string;
  action?: string | undefined;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  startDate?: string | undefined;
  endDate?: string | undefined;
}

/** An event of the audit log, with the names of the user and the key that acted. */
export interface EventInfo {
  id: string;
  workspaceId: string;
  action: string;
  resourceType: string;
  resourceId: string;
  /** Null: no user acted, or the user is unknown. */
  actorName: string | null;
  actorEmail: string | null;
  /** The name of the API key; null for other credentials. */
  apiKeyName: string | null;
  /** False: the action has not ended yet, or its process ended before the outcome was known. */
  isConfirmed: boolean;
  metadata: object;
  createdAt: string;
}

/** The time and the id of a page's last event. */
type EventPosition = readonly [createdAt: string, id: string];

/** Returns a page of the events, newest first, and the position of its last event if more follow. */
export async function readPageOfEvents(
  db: Kysely<WorkspaceTables>,
  { workspaceId, action, resourceType, resourceId, startDate, endDate }: EventFilters,
  { limit, afterPosition }: { limit: number; afterPosition: EventPosition | undefined },
): Promise<{ page: EventInfo[]; next: EventPosition | undefined }> {
  let query = db
    .selectFrom('audit')
    .leftJoin('users', 'users.id', 'audit.user_id')
    .leftJoin('api_keys', 'api_keys.id', 'audit.credential_id')
    .select(['audit.id', 'audit.action', 'audit.resource_type', 'audit.resource_id', 'audit.details'])
    .select(['audit.created_at', 'audit.outcome', 'users.name', 'users.email', 'api_keys.name as key_name'])
    .where('audit.workspace_id', '=', workspaceId);
  if (action !== undefined) query = query.where('audit.action', '=', action);
  if (resourceType !== undefined) query = query.where('audit.resource_type', '=', resourceType);
  if (resourceId !== undefined) query = query.where('audit.resource_id', '=', resourceId);
  if (startDate !== undefined) query = query.where('audit.created_at', '>=', startDate);
  if (endDate !== undefined) query = query.where('audit.created_at', '<=', endDate);
  const { rows, next } = await readPage(
    query,
    ['audit.created_at', 'audit.id'],
    { afterPosition, sortOrder: 'desc', limit },
    (row): EventPosition => [row.created_at, row.id],
  );
  const page = rows.map((row) => ({
    ...{ id: row.id, workspaceId, action: row.action },
    ...{ resourceType: row.resource_type, resourceId: row.resource_id },
    ...{ actorName: row.name, actorEmail: row.email, apiKeyName: row.key_name },
    isConfirmed: row.outcome === null,
    metadata: row.details === null ? {} : (JSON.parse(row.details) as object),
    createdAt: row.created_at,
  }));
  return { page, next };
}
