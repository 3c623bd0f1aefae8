import type { AuditRow, WorkflowRow } from '../../store/schema.ts';
import type { TriggerRow } from '../tables.ts';
import type { WebhookPathRow } from '../webhooks/tables.ts';
import type { WebhookRegistrationRow } from './tables.ts';

export interface WebhookRegistrationTables {
  provider_hooks: WebhookRegistrationRow;
  triggers: TriggerRow;
  webhook_paths: WebhookPathRow;
  workflows: WorkflowRow;
  audit: AuditRow;
}
