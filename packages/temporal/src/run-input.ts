import { EngineError } from '@heddle/core';
import type { NewRun, Plan } from '@heddle/core';
import { indexPlan } from '@heddle/core/run';
import type { Region } from '@heddle/core/machine';
import type { Entry } from '@heddle/core/run';
import { INPUT_FORMAT } from './messages.ts';
import type { Profile, RunInput } from './messages.ts';

/** The server takes no more than 2 MB in one piece, and what is continued as new holds the state too. */
const MAX_SKELETON_BYTES = 1_000_000;

type Started = Extract<Entry, { type: 'started' }>;

/** What the workflow of a recorded run starts with. Throws PLAN_TOO_LARGE for a plan that does not fit into a history. */
export function runInputOf(plan: Plan, header: NewRun, first: Started, profile: Profile): RunInput {
  const bytes = Buffer.byteLength(JSON.stringify(plan.skeleton));
  if (bytes > MAX_SKELETON_BYTES)
    throw new EngineError(
      'OPTIONS_INVALID',
      `The workflow "${plan.workflow.name}" is too large for Temporal: its control flow takes ${bytes} bytes of the ${MAX_SKELETON_BYTES} that a run may start with. Split it into workflows that call each other.`,
    );
  const index = indexPlan(plan);
  return {
    format: INPUT_FORMAT,
    runId: header.runId,
    planHash: plan.hash,
    skeleton: plan.skeleton,
    profile,
    effects: effectsOf(plan, plan.skeleton, {}),
    begin: {
      started: {
        type: 'started',
        atMs: first.atMs,
        start: index.topIndex(first.start) ?? -1,
        graceMs: first.graceMs,
        ...(first.until !== undefined && { until: index.topIndex(first.until) ?? -1 }),
        ...(first.timeoutMs !== undefined && { timeoutMs: first.timeoutMs }),
        ...(first.activeOnly && { activeOnly: true }),
      },
    },
  };
}

function effectsOf(plan: Plan, region: Region, into: RunInput['effects']): RunInput['effects'] {
  for (const node of region.nodes) {
    const config = plan.blocks[node.id];
    if (config && node.class === 'effect') into[node.id] = { type: config.type, name: config.name };
    if (node.subflow) effectsOf(plan, node.subflow.body, into);
  }
  return into;
}
