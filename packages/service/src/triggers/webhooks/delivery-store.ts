import type { NewReservation, QueuedStart } from '@heddle/api/ports';
import { sql } from 'kysely';
import type { CompiledQuery, Kysely } from 'kysely';
import { compiledQueryForMany, compiledTransactionQuery } from '../../store/compiled-query.ts';
import { Batcher } from '../../store/batcher.ts';
import { addQueuedRuns } from '../../store/reservations.ts';
import { groupIdOf, decideEvent } from '../flow/decide.ts';
import type { FlowEvent, FlowDecision } from '../flow/decide.ts';
import type { DeliveryRow, WebhookTables } from './tables.ts';

type Db = Kysely<WebhookTables>;

/** A delivery with the run that it starts. */
export interface NewDelivery {
  row: Omit<DeliveryRow, 'duplicates' | 'last_duplicate_ms'>;
  start: QueuedStart;
  /** The event, if flow control decides about the run. */
  flowEvent?: FlowEvent;
}

/**
 * The result of storing a delivery: stored with its run, a duplicate, stored with the decision of flow control, or
 * refused because the trigger is not live.
 */
export type StoreResult = 'stored' | { duplicateOf: string } | { decision: FlowDecision } | 'not live';

/** Maximum number of deliveries in one transaction. */
const BATCH_SIZE = 64;

/** Stores deliveries and queues their runs. Deliveries of a burst share a transaction. */
export class DeliveryStore {
  readonly #db: Db;
  readonly #batches = new Batcher<NewDelivery, StoreResult>(BATCH_SIZE, (batch) => this.#storeAll(batch));

  readonly #insert = createInsertStatement();
  readonly #findFirstRun = createFindRunStatement();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Returns the id of the run of the delivery with this id; undefined if there is none. */
  async findFirstRunId(
    { workflow_id, block_id, delivery_id }: Pick<DeliveryRow, 'workflow_id' | 'block_id' | 'delivery_id'>,
    db: Db = this.#db,
  ): Promise<string | undefined> {
    const [row] = await this.#findFirstRun(db, [workflow_id, block_id, delivery_id]);
    return row?.run_id;
  }

  /** Resolves when the transaction of the delivery is committed. */
  store(delivery: NewDelivery): Promise<StoreResult> {
    return this.#batches.add(delivery);
  }

  close(): Promise<void> {
    return this.#batches.whenIdle();
  }

  async #storeAll(batch: readonly NewDelivery[]): Promise<readonly StoreResult[]> {
    // In a fixed order, so that transactions of several processes cannot deadlock.
    const sortKeys = new Map(batch.map((delivery) => [delivery, sortKeyOf(delivery)]));
    const sortedDeliveries = batch.toSorted((a, b) =>
      (sortKeys.get(a) ?? '') < (sortKeys.get(b) ?? '') ? -1 : 1,
    );
    const results = new Map<NewDelivery, StoreResult>();
    await this.#db.transaction().execute(async (tx) => {
      const insertedIds = await this.#insertAll(tx, sortedDeliveries);
      for (const delivery of sortedDeliveries)
        results.set(delivery, await this.#determineResult(tx, delivery, insertedIds.has(delivery.row.id)));
      const queuedDeliveries = sortedDeliveries.filter((delivery) => results.get(delivery) === 'stored');
      await addQueuedRuns(tx, queuedDeliveries.map(toQueuedRun));
    });
    return batch.map((delivery) => results.get(delivery) as StoreResult);
  }

  /** Returns the ids of the rows that were inserted. */
  async #insertAll(db: Db, deliveries: readonly NewDelivery[]): Promise<Set<string>> {
    const values = deliveries.flatMap(({ row }) => [
      ...[row.id, row.delivery_id, row.event, row.run_id, row.method, row.content_type, row.bytes],
      ...[row.received_ms, row.replay_of, row.workflow_id, row.block_id, row.version],
    ]);
    const insertedRows = await this.#insert(db, deliveries.length, values);
    return new Set(insertedRows.map(({ id }) => id));
  }

  /** Returns the result for a delivery. With flow control, first decides about its run. */
  async #determineResult(db: Db, { row, flowEvent }: NewDelivery, isInserted: boolean): Promise<StoreResult> {
    if (!isInserted) {
      const firstRunId = row.delivery_id === null ? undefined : await this.findFirstRunId(row, db);
      return firstRunId === undefined ? 'not live' : { duplicateOf: firstRunId };
    }
    if (flowEvent) {
      const decision = await decideEvent(db as never, flowEvent);
      if (decision.runId !== row.run_id)
        await db
          .updateTable('webhook_deliveries')
          .set({ run_id: decision.runId })
          .where('id', '=', row.id)
          .execute();
      return { decision };
    }
    return 'stored';
  }
}

function toQueuedRun({ row, start }: NewDelivery): { reservation: NewReservation; start: QueuedStart } {
  const { run_id: runId, workflow_id: workflowId, workspace_id: workspaceId } = row;
  const createdAt = new Date(row.received_ms).toISOString();
  const ids = { engineRunId: runId, runId, workflowId, workspaceId };
  return { reservation: { ...ids, trigger: 'webhook', mode: 'async', createdAt }, start };
}

/**
 * Returns the sort key of a delivery. Deliveries of the same group of flow control are adjacent, because the
 * transaction locks the row of the group.
 */
function sortKeyOf({ row, flowEvent }: NewDelivery): string {
  const group = flowEvent ? groupIdOf(flowEvent) : '';
  return `${row.workflow_id} ${group} ${row.block_id} ${row.delivery_id ?? row.id}`;
}

/**
 * Returns the statement that stores deliveries. It stores a delivery only if the version whose secret has verified the
 * request is still live. The empty strings and zeros stand for the parameters of a call.
 */
function createInsertStatement() {
  return compiledQueryForMany<WebhookTables, { id: string }>((db, count) => {
    const text = sql`cast(${''} as text)`;
    const [integer, bigint] = [sql`cast(${0} as integer)`, sql`cast(${0} as bigint)`];
    // SQLite and PostgreSQL name these columns column1, column2 ….
    const row = sql`(${sql.join([...Array<typeof text>(6).fill(text), integer, bigint, text, text, text, integer])})`;
    const statement = sql<{
      id: string;
    }>`insert into webhook_deliveries (id, delivery_id, event, run_id, method, content_type, bytes, received_ms,
        replay_of, duplicates, last_duplicate_ms, workspace_id, workflow_id, block_id, version)
      select column1, column2, column3, column4, column5, column6, column7, column8,
        column9, 0, null, triggers.workspace_id, triggers.workflow_id, triggers.block_id, triggers.version
      from (values ${sql.join(Array<typeof row>(count).fill(row))}) as events
      inner join triggers on triggers.workflow_id = column10 and triggers.block_id = column11
        and triggers.version = column12
      inner join workflows
        on workflows.id = triggers.workflow_id and workflows.active_version = triggers.version
      where triggers.state = 'active' and workflows.archived_at is null
      on conflict do nothing
      returning id`;
    return { compile: () => statement.compile(db) as CompiledQuery<{ id: string }> };
  });
}

/** Returns the statement that finds the run of a delivery. The empty strings stand for the parameters of a call. */
function createFindRunStatement() {
  return compiledTransactionQuery<WebhookTables, { run_id: string }>((db) =>
    db
      .selectFrom('webhook_deliveries')
      .select('run_id')
      .where('workflow_id', '=', '')
      .where('block_id', '=', '')
      .where('delivery_id', '=', ''),
  );
}
