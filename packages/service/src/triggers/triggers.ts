import type { JsonObject } from '@heddle/core';
import type { WorkflowBlock } from '@heddle/engine';
import {
  activateTriggers,
  deactivateTriggers,
  planTriggers,
  startRestoredTriggers,
  stopArchivedTriggers,
} from './activation.ts';
import type { Activation, PlannedTrigger } from './activation.ts';
import type { Kysely } from 'kysely';
import type { Db } from './fire.ts';
import { activateEvents, deactivateEvents, recordEvents } from './events/outbox.ts';
import { countRunResults, readRunResults } from './run-results.ts';
import type { RunResults, LoggedRun, TraceServices } from './run-results.ts';
import { deleteCursors } from './feeds/store.ts';
import type { FeedDb } from './feeds/store.ts';
import { registrationProblem, findRegistrationStates } from './registrations/views.ts';
import type { RegistrationState } from './registrations/views.ts';
import {
  findArchivedWorkflowIdsWithRegistrations,
  recordDesiredRegistrations,
} from './registrations/desired-registrations.ts';
import type {
  RegistrationDependencies,
  RegistrationSettings,
} from './registrations/desired-registrations.ts';
import type { WebhookRegistrationTables } from './registrations/database.ts';
import type { TriggerType } from './types.ts';
import { activatePaths, findWebhooks } from './webhooks/paths.ts';
import type { WebhookTables } from './webhooks/tables.ts';

/** The triggers of a live version. */
export interface TriggerState {
  kinds: ReadonlySet<TriggerType['kind']>;
  webhooks: readonly { blockId: string; provider: string; path: string }[];
  registrations: readonly RegistrationState[];
  warnings: string[];
}

const NO_REGISTRATIONS: RegistrationSettings = {
  unavailableReason: 'This server creates no webhook registrations.',
};

/** Changes the triggers of workflows in the transactions that change the workflows. */
export class Triggers {
  readonly types: ReadonlyMap<string, TriggerType>;
  readonly registrationDependencies: RegistrationDependencies;
  readonly #changeListeners = new Set<() => void>();
  readonly #waitingEventListeners = new Set<() => void>();

  /** `settings`: whether registrations can be created at providers. */
  constructor(types: readonly TriggerType[] = [], settings: RegistrationSettings = NO_REGISTRATIONS) {
    this.types = new Map(types.map((type) => [type.type, type]));
    this.registrationDependencies = { types: this.types, settings };
  }

  /**
   * Returns the triggers of a graph whose types this process supports. Throws 400 if a field of a trigger is invalid.
   */
  plan(
    blocks: { readonly [id: string]: JsonObject },
    startBlocks: readonly WorkflowBlock[],
  ): PlannedTrigger[] {
    return planTriggers(this.types, blocks, startBlocks);
  }

  /**
   * Activates the triggers of the version that becomes live. Throws 409 if another trigger has the path of a webhook.
   */
  async activate(transaction: unknown, activation: Activation): Promise<void> {
    await activateTriggers(transaction as Db, activation);
    await activatePaths(transaction as Kysely<WebhookTables>, activation);
    await this.recordDesiredRegistrations(transaction, activation);
    await activateEvents(transaction, activation);
    const { workspaceId, workflowId, version, nowMs: happenedMs } = activation;
    const fields = { workspaceId, workflowId, happenedMs, details: { version } };
    await recordEvents(transaction, [{ kind: 'workflow_deployed', ...fields }]);
  }

  /** Stops the triggers of a workflow that is undeployed. */
  async deactivate(
    transaction: unknown,
    workflow: { workflowId: string; workspaceId: string; nowMs: number },
  ): Promise<void> {
    const { nowMs: happenedMs, ...fields } = workflow;
    await deactivateTriggers(transaction as Db, fields.workflowId);
    await this.recordDesiredRegistrations(transaction, workflow);
    await deactivateEvents(transaction, fields.workflowId);
    await recordEvents(transaction, [{ kind: 'workflow_undeployed', ...fields, happenedMs }]);
    await deleteCursors(transaction as FeedDb, [fields.workflowId]);
  }

  /** Stops the triggers of the archived workflows of a workspace. */
  async stopArchivedTriggers(
    transaction: unknown,
    { workspaceId, nowMs }: { workspaceId: string; nowMs: number },
  ): Promise<void> {
    await deleteCursors(transaction as FeedDb, await stopArchivedTriggers(transaction as Db, workspaceId));
    for (const workflowId of await findArchivedWorkflowIdsWithRegistrations(
      transaction as Kysely<WebhookRegistrationTables>,
      workspaceId,
    ))
      await this.recordDesiredRegistrations(transaction, { workflowId, nowMs });
  }

  /** Starts the triggers of a restored workflow again. */
  async startRestoredTriggers(
    transaction: unknown,
    workflow: { workflowId: string; nowMs: number },
  ): Promise<void> {
    await startRestoredTriggers(transaction as Db, this.types, workflow);
    await this.recordDesiredRegistrations(transaction, workflow);
  }

  /** Records which registrations at providers a workflow needs, in the transaction that changes its triggers. */
  recordDesiredRegistrations(
    transaction: unknown,
    workflow: { workflowId: string; nowMs: number },
  ): Promise<void> {
    return recordDesiredRegistrations(
      transaction as Kysely<WebhookRegistrationTables>,
      this.registrationDependencies,
      workflow,
    );
  }

  /**
   * Reads the results of ended runs for the health of their triggers, before the transaction that records their end.
   */
  readRunResults(
    database: unknown,
    services: TraceServices,
    logs: readonly LoggedRun[],
  ): Promise<RunResults> {
    return readRunResults(database as Db, services, logs);
  }

  /**
   * Counts the failures of ended runs, in the transaction that records their end. Triggers that keep failing
   * are suspended.
   */
  async countRunResults(
    transaction: unknown,
    runs: readonly LoggedRun[],
    { results, nowMs }: { results: RunResults; nowMs: number },
  ): Promise<void> {
    if (results.size === 0) return;
    for (const workflowId of await countRunResults(transaction as Db, runs, { results, nowMs }))
      await this.recordDesiredRegistrations(transaction, { workflowId, nowMs });
  }

  /**
   * Returns the triggers of the live version of a workflow, and warnings for suspended triggers and failed
   * registrations.
   */
  async stateOf(database: unknown, workflowId: string): Promise<TriggerState> {
    const rows = await (database as Db)
      .selectFrom('triggers')
      .select(['name', 'state', 'last_error', 'type'])
      .where('workflow_id', '=', workflowId)
      .where('version', 'is not', null)
      .orderBy('block_id')
      .execute();
    const suspendedTriggers = rows.filter(({ state }) => state === 'suspended');
    const warnings = suspendedTriggers.map(
      ({ name, last_error: error }) =>
        `The trigger "${name}" is suspended, because it has failed repeatedly: ${error ?? 'no run could be started'}`,
    );
    const kinds = new Set(rows.map(({ type }) => this.types.get(type)?.kind ?? 'schedule'));
    const webhooks = await findWebhooks(database as Kysely<WebhookTables>, workflowId);
    const registrations = await findRegistrationStates(
      database as Kysely<WebhookRegistrationTables>,
      workflowId,
    );
    const failedRegistrations = registrations.filter(({ state }) => state === 'failed');
    warnings.push(...failedRegistrations.map(registrationProblem));
    return {
      kinds,
      registrations,
      webhooks: webhooks.flatMap((webhook) => this.#webhookStates(webhook)),
      warnings,
    };
  }

  /** Returns the state of a webhook; empty if this process does not support its type. */
  #webhookStates({ blockId, type: name, path, config }: Awaited<ReturnType<typeof findWebhooks>>[number]) {
    const type = this.types.get(name);
    return type?.kind === 'webhook' ? [{ blockId, provider: type.providerOf(config), path }] : [];
  }

  /** Reports that a transaction with changes was committed. */
  notifyChanged(): void {
    for (const listener of this.#changeListeners) listener();
  }

  /** Calls `listener` after changes. Returns a function that stops the calls. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** Reports that an event waits for flow control. */
  notifyEventsWaiting(): void {
    for (const listener of this.#waitingEventListeners) listener();
  }

  /** Calls `listener` when events wait for flow control. Returns a function that stops the calls. */
  onEventsWaiting(listener: () => void): () => void {
    this.#waitingEventListeners.add(listener);
    return () => this.#waitingEventListeners.delete(listener);
  }
}
