import { ApiError, auditRow } from '@heddle/api';
import type { ApiStore, Principal } from '@heddle/api';
import type { WorkflowRow } from '@heddle/api/drafts';
import { typeNames, typeTable } from '@heddle/core/drafts';
import type { Db } from './folders.ts';

/** What the operations of workflows need. */
export interface WorkflowServices {
  /** Opened with `openServiceStore`. */
  store: Pick<ApiStore, 'database'>;
  now: () => number;
  /** Types of blocks that may be added to drafts. Default: those that the engine knows. */
  types?: readonly string[];
}

export const READ = { tag: 'Workflows', scope: 'api:read', role: 'read', workspaceKeys: true } as const;
export const WRITE = { tag: 'Workflows', scope: 'api:write', role: 'write', workspaceKeys: true } as const;

/** The errors of reads, and of writes. */
export const READ_ERRORS = [400, 401, 403, 404, 429] as const;
export const WRITE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 423, 429] as const;

/** Returns the database with the tables of this area. */
export function tablesOf({ store }: WorkflowServices): Db {
  return store.database as Db;
}

export function timeOf({ now }: WorkflowServices): string {
  return new Date(now()).toISOString();
}

export function typesOf({ types }: WorkflowServices): ReadonlySet<string> {
  return new Set(types ?? [...typeNames(typeTable()), 'note']);
}

/** Narrows the workflow of an operation whose resource is one. */
export function expectWorkflow(row: WorkflowRow | undefined): WorkflowRow {
  if (!row) throw new ApiError(404, 'Workflow not found');
  return row;
}

/** Where an audit event happened. */
export interface Happened {
  action: string;
  workspaceId: string;
  resourceId: string;
  resourceType?: string;
  details?: object;
}

/** Records an event in the transaction of its change. */
export async function record(
  db: Db,
  { resourceType = 'workflow', ...event }: Happened,
  principal: Principal,
): Promise<void> {
  await db
    .insertInto('audit')
    .values(auditRow({ resourceType, ...event }, principal))
    .execute();
}
