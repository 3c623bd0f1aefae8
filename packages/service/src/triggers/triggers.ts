import type { JsonObject } from '@heddle/core';
import type { WorkflowBlock } from '@heddle/engine';
import {
  activateTriggers,
  deactivateTriggers,
  plannedTriggers,
  startRestored,
  stopArchived,
} from './activation.ts';
import type { Activation, PlannedTrigger } from './activation.ts';
import type { Db } from './fire.ts';
import type { TriggerType } from './types.ts';

/** What deployments do with triggers: each change is part of the transaction that changes the live version. */
export class Triggers {
  readonly types: ReadonlyMap<string, TriggerType>;
  readonly #listeners = new Set<() => void>();

  constructor(types: readonly TriggerType[] = []) {
    this.types = new Map(types.map((type) => [type.type, type]));
  }

  /** Returns the triggers of a graph that are fired here. Throws 400 for triggers that cannot fire as they are. */
  planned(blocks: { readonly [id: string]: JsonObject }, starts: readonly WorkflowBlock[]): PlannedTrigger[] {
    return plannedTriggers(this.types, blocks, starts);
  }

  activate(transaction: unknown, activation: Activation): Promise<void> {
    return activateTriggers(transaction as Db, activation);
  }

  deactivate(transaction: unknown, workflowId: string): Promise<void> {
    return deactivateTriggers(transaction as Db, workflowId);
  }

  /** Stops the triggers of the archived workflows of a workspace. */
  stopArchived(transaction: unknown, workspaceId: string): Promise<void> {
    return stopArchived(transaction as Db, workspaceId);
  }

  /** Starts the triggers of a restored workflow again. */
  startRestored(transaction: unknown, restored: { workflowId: string; nowMs: number }): Promise<void> {
    return startRestored(transaction as Db, this.types, restored);
  }

  /** Returns whether the live version of a workflow has schedules, and a warning for each that is suspended. */
  async stateOf(
    database: unknown,
    workflowId: string,
  ): Promise<{ isScheduled: boolean; warnings: string[] }> {
    const rows = await (database as Db)
      .selectFrom('triggers')
      .select(['name', 'state', 'last_error'])
      .where('workflow_id', '=', workflowId)
      .where('version', 'is not', null)
      .orderBy('block_id')
      .execute();
    const suspended = rows.filter(({ state }) => state === 'suspended');
    const warnings = suspended.map(
      ({ name, last_error: error }) =>
        `The trigger "${name}" is suspended, because it has only failed: ${error ?? 'no run could be started'}`,
    );
    return { isScheduled: rows.length > 0, warnings };
  }

  /** Says that a transaction with changes was committed. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after changes. Returns what stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
