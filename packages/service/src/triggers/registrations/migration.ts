import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { WebhookRegistrationRow } from './tables.ts';

/** Creates the table of the registrations at providers. */
export async function createRegistrationTable({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('provider_hooks')
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('trigger_id', 'text', (column) => column.notNull())
    .addColumn('wanted', 'text')
    .addColumn('present', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('error', 'text')
    .addColumn('is_retryable', 'integer', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('look_ms', 'bigint')
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('lease_id', 'text')
    .addColumn('lease_ms', 'bigint')
    .addColumn('key_id', 'text')
    .addColumn('sealed', 'text')
    .addColumn('expires_ms', 'bigint')
    .addColumn('checked_ms', 'bigint')
    .addColumn('active_ms', 'bigint')
    .addPrimaryKeyConstraint('provider_hooks_key', ['workflow_id', 'block_id'])
    .execute();
  await schema
    .createIndex('provider_hooks_look')
    .on('provider_hooks')
    .column('look_ms')
    .where(sql.ref('look_ms'), 'is not', null)
    .execute();
}

/** Adds the provider of each registration, because the number of concurrent jobs is limited for each provider. */
export async function addRegistrationProviders(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('provider_hooks')
    .addColumn('provider', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  const typedDb = db as Kysely<{
    provider_hooks: Pick<
      WebhookRegistrationRow,
      'workflow_id' | 'block_id' | 'wanted' | 'present' | 'provider'
    >;
  }>;
  const rows = await typedDb
    .selectFrom('provider_hooks')
    .select(['workflow_id', 'block_id', 'wanted', 'present'])
    .execute();
  for (const { workflow_id: workflowId, block_id: blockId, wanted, present } of rows) {
    const [registration] =
      wanted === null
        ? (JSON.parse(present) as StoredRegistration[])
        : [JSON.parse(wanted) as StoredRegistration];
    await typedDb
      .updateTable('provider_hooks')
      .set({ provider: registration?.config.provider ?? registration?.type ?? '' })
      .where('workflow_id', '=', workflowId)
      .where('block_id', '=', blockId)
      .execute();
  }
}

/** The part of a stored registration that this migration reads. */
interface StoredRegistration {
  type: string;
  config: { provider?: string };
}
