import { EngineError } from '@heddle/core';
import type { NewRun, Plan } from '@heddle/core';
import { indexPlan } from '@heddle/core/run';
import type { Region } from '@heddle/core/machine';
import type { Entry } from '@heddle/core/run';
import { INPUT_FORMAT } from './messages.ts';
import type { Profile, RunInput } from './messages.ts';

/** The server takes no more than 2 MB in one piece, and what is continued as new holds the state too. */
const MAX_PLAN_BYTES = 1_000_000;
/** Search attributes hold 2 KB, and so does a memo before the server warns. */
const MAX_NAME_LENGTH = 200;

type Started = Extract<Entry, { type: 'started' }>;

const fitting = new WeakSet<Plan>();

/** Throws OPTIONS_INVALID for a plan that does not fit into a history. */
export function expectFit(plan: Plan): void {
  if (fitting.has(plan)) return;
  const { skeleton, workflow } = plan;
  const bytes = Buffer.byteLength(JSON.stringify([skeleton, effectsOf(plan, skeleton, {})]));
  if (bytes > MAX_PLAN_BYTES)
    throw new EngineError(
      'OPTIONS_INVALID',
      `The workflow "${workflow.name}" is too large for Temporal: its control flow takes ${bytes} bytes, and a run may start with ${MAX_PLAN_BYTES}. Split it into workflows that call each other.`,
    );
  fitting.add(plan);
}

/** What the workflow of a recorded run starts with. Throws OPTIONS_INVALID for a plan that does not fit into a history. */
export function runInputOf(plan: Plan, header: NewRun, first: Started, profile: Profile): RunInput {
  expectFit(plan);
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
    labels: {
      workflowId: plan.workflow.id.slice(0, MAX_NAME_LENGTH),
      ...(!profile.sealed && { workflowName: plan.workflow.name.slice(0, MAX_NAME_LENGTH) }),
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
