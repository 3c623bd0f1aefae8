import { v7 as createId } from 'uuid';
import type { Audit, AuditEvent, PreparedEvent } from '@heddle/api/ports';
import type { Db } from './database.ts';
import type { AuditRow } from './schema.ts';

type NewAuditEvent = Omit<AuditEvent, 'principal'> & Partial<Pick<AuditEvent, 'principal'>>;

/** The audit log. */
export class AuditStore implements Audit {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Records the event, in `transaction` if there is one. Without a principal, the service itself acted. */
  async record(event: NewAuditEvent, transaction?: unknown): Promise<void> {
    const db = (transaction as Db | undefined) ?? this.#db;
    await db.insertInto('audit').values(rowOf(event)).execute();
  }

  /** Records an event before its action. The outcome of the event is `intended` until `confirm` is called. */
  async prepare(event: NewAuditEvent): Promise<PreparedEvent> {
    const row = rowOf(event);
    await this.#db
      .insertInto('audit')
      .values({ ...row, outcome: 'intended' })
      .execute();
    return {
      confirm: async () => {
        await this.#db.updateTable('audit').set({ outcome: null }).where('id', '=', row.id).execute();
      },
      abort: async () => {
        await this.#db.deleteFrom('audit').where('id', '=', row.id).execute();
      },
    };
  }

  /** Returns the events of a resource, oldest first. */
  async listByResource(resourceId: string): Promise<AuditRow[]> {
    return this.#db
      .selectFrom('audit')
      .selectAll()
      .where('resource_id', '=', resourceId)
      .orderBy('created_at')
      .execute();
  }
}

function rowOf({ principal, ...event }: NewAuditEvent): AuditRow {
  return {
    id: createId(),
    workspace_id: event.workspaceId ?? null,
    user_id: principal?.userId ?? null,
    credential_id: principal?.credentialId ?? null,
    action: event.action,
    resource_type: event.resourceType,
    resource_id: event.resourceId,
    details: event.details ? JSON.stringify(event.details) : null,
    created_at: new Date().toISOString(),
    outcome: null,
  };
}
