import type { NewRun, Plan } from '@heddle/core';
import type { TailableRunStore } from '../../store/stores.ts';
import type { RestEvent } from '../../records/run-events.ts';
import type { PerformerParts } from '../../execution/performer-parts.ts';

export type { RestEvent } from '../../records/run-events.ts';

/** What a run works with, and who is told of it. */
export interface RunParts extends Omit<PerformerParts, 'replica' | 'post' | 'workflowId' | 'broken'> {
  header: NewRun;
  plan: Plan;
  store: TailableRunStore;
  /** What goes wrong behind everybody's back. */
  report(error: unknown, runId: string): void;
  /** The run has come to rest (and its record is written), moves again, or cannot go on. */
  moved(event: RestEvent): void;
}
