import type { AuditRow, WorkflowRow } from '../../store/schema.ts';
import type { TriggerRow } from '../tables.ts';
import type { WebhookPathRow } from '../webhooks/tables.ts';
import type { ProviderHookRow } from './tables.ts';

export interface HookTables {
  provider_hooks: ProviderHookRow;
  triggers: TriggerRow;
  webhook_paths: WebhookPathRow;
  workflows: WorkflowRow;
  audit: AuditRow;
}
