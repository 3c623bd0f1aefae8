import { randomUUID } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';
import type { Db } from './database.ts';
import type { AuditRow } from './schema.ts';

/** What was done to what. */
export interface AuditEvent {
  action: string;
  workspaceId: string | null;
  resourceType: string;
  resourceId: string;
  details?: object;
}

/** Who did what, kept for those who ask later. */
export class AuditStore {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  async record(event: AuditEvent, principal: Principal | null): Promise<void> {
    await this.#db.insertInto('audit').values(auditRow(event, principal)).execute();
  }

  /** What was recorded of a resource, oldest first. */
  async of(resourceId: string): Promise<AuditRow[]> {
    return this.#db
      .selectFrom('audit')
      .selectAll()
      .where('resource_id', '=', resourceId)
      .orderBy('created_at')
      .execute();
  }
}

export function auditRow(event: AuditEvent, principal: Principal | null): AuditRow {
  return {
    id: randomUUID(),
    workspace_id: event.workspaceId,
    user_id: principal?.userId ?? null,
    credential_id: principal?.credentialId ?? null,
    action: event.action,
    resource_type: event.resourceType,
    resource_id: event.resourceId,
    details: event.details ? JSON.stringify(event.details) : null,
    created_at: new Date().toISOString(),
  };
}
