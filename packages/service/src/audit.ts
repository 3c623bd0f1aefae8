import type { auditRow } from '@heddle/api';

/** The table of audit events, for areas that record an event in the transaction of its change. */
export interface AuditTables {
  audit: ReturnType<typeof auditRow>;
}
