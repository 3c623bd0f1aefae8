import { EngineError } from '@heddle/core';
import type { RunHeader, Plan } from '@heddle/core';
import { indexPlan, startedEventOf } from '@heddle/core/run';
import type { Region } from '@heddle/core/machine';
import type { Entry } from '@heddle/core/run';
import { INPUT_FORMAT } from './messages.ts';
import type { Profile, RunInput } from './messages.ts';

/** Below the server's limit of 2 MB for one message. A run that continues as new also needs room for its state. */
const MAX_PLAN_BYTES = 1_000_000;
/** Search attributes may have 2 KB. Above 2 KB, the server warns about a memo. */
const MAX_NAME_LENGTH = 200;

type StartedEntry = Extract<Entry, { type: 'started' }>;

/** Plans that are known to fit. */
const fittingPlans = new WeakSet<Plan>();

/** Throws OPTIONS_INVALID for a plan that is too large for a history. */
export function assertPlanFits(plan: Plan): void {
  if (fittingPlans.has(plan)) return;
  const { skeleton, workflow } = plan;
  const bytes = Buffer.byteLength(JSON.stringify([skeleton, collectEffects(plan, skeleton, {})]));
  if (bytes > MAX_PLAN_BYTES)
    throw new EngineError(
      'OPTIONS_INVALID',
      `The workflow "${workflow.name}" is too large for Temporal: its control flow takes ${bytes} bytes, and the limit is ${MAX_PLAN_BYTES}. Split it into workflows that call each other.`,
    );
  fittingPlans.add(plan);
}

/** Returns the workflow input of a recorded run. Throws OPTIONS_INVALID for a plan that is too large for a history. */
export function runInputOf(
  plan: Plan,
  header: RunHeader,
  startedEntry: StartedEntry,
  profile: Profile,
): RunInput {
  assertPlanFits(plan);
  const { atMs, graceMs } = startedEntry;
  // -1 starts no block. It stands for a start block that is not in the plan.
  const started = startedEventOf(indexPlan(plan), startedEntry) ?? {
    type: 'started',
    atMs,
    start: -1,
    graceMs,
  };
  return {
    format: started.inside ? INPUT_FORMAT : 1,
    runId: header.runId,
    planHash: plan.hash,
    skeleton: plan.skeleton,
    profile,
    effects: collectEffects(plan, plan.skeleton, {}),
    begin: { started },
    labels: {
      workflowId: plan.workflow.id.slice(0, MAX_NAME_LENGTH),
      ...(!profile.sealed && { workflowName: plan.workflow.name.slice(0, MAX_NAME_LENGTH) }),
    },
  };
}

/** Adds the effect blocks of a region and of its containers to `effects`. Returns `effects`. */
function collectEffects(plan: Plan, region: Region, effects: RunInput['effects']): RunInput['effects'] {
  for (const node of region.nodes) {
    const config = plan.blocks[node.id];
    if (config && node.class === 'effect') effects[node.id] = { type: config.type, name: config.name };
    if (node.subflow) collectEffects(plan, node.subflow.body, effects);
  }
  return effects;
}
