import { randomUUID } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';
import type { Db } from './database.ts';
import type { AuditRow } from './schema.ts';

/** An action on a resource. */
export interface AuditEvent {
  action: string;
  workspaceId: string | null;
  resourceType: string;
  resourceId: string;
  details?: object;
}

/** The audit log. */
export class AuditStore {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  async record(event: AuditEvent, principal: Principal | undefined): Promise<void> {
    await this.#db.insertInto('audit').values(auditRow(event, principal)).execute();
  }

  /** Returns the events of a resource, oldest first. */
  async ofResource(resourceId: string): Promise<AuditRow[]> {
    return this.#db
      .selectFrom('audit')
      .selectAll()
      .where('resource_id', '=', resourceId)
      .orderBy('created_at')
      .execute();
  }
}

/** Returns the row of an event that `principal` caused now. */
export function auditRow(event: AuditEvent, principal: Principal | undefined): AuditRow {
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
