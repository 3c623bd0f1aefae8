import type { TriggerInfo } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { flowControlFields } from '../flow-control.ts';
import type { EventRule, FlowPolicy } from '@heddle/engine/triggers';
import { eventFields, readEventRule } from './event-fields.ts';

/** A type of trigger that events of the workspace fire. Its configuration is plain JSON. */
export interface EventTrigger extends TriggerInfo {
  kind: 'event';
  /** Returns the rule for when the trigger fires. */
  ruleOf(config: JsonObject): EventRule;
}

/** The default flow control: workflows that cause each other's events cannot start runs without limit. */
const DEFAULT_FLOW_POLICY: FlowPolicy = {
  scope: 'trigger',
  throttle: { limit: 60, ms: 60_000, excess: 'wait' },
};

/** Starts runs when something happens in the workspace. */
export const workspaceEvent: EventTrigger = {
  kind: 'event',
  type: 'sim_workspace_event',
  parseConfig(fields) {
    const result = readEventRule(fields);
    if ('problems' in result) return result;
    return { config: { ...result.rule, flow: DEFAULT_FLOW_POLICY } as unknown as JsonObject };
  },
  ruleOf: (config) => config as unknown as EventRule,
};

const runOutputs = {
  runId: z.string().nullable().describe('Id of the run.'),
  durationMs: z.number().nullable().describe('Duration of the run in milliseconds.'),
  cost: z.number().nullable().describe('Cost of the run in credits; 200 credits are a dollar.'),
  finalOutput: z
    .json()
    .describe(
      'Output of the run. A large output is replaced by an object with `truncated` and its beginning as `preview`.',
    ),
};

/** The description, fields and outputs of the block, for the documentation and for workflow editors. */
export const workspaceEventSchema = {
  summary:
    'Starts a run when another workflow of the workspace fails, is slow, expensive, inactive or deployed, or when a credential changes.',
  fields: eventFields.extend(flowControlFields),
  outputs: z.object({
    event: z.string().describe('The event or condition.'),
    timestamp: z.string().describe('When the event happened, in ISO 8601 and UTC.'),
    workflowId: z.string().nullable().describe('Id of the workflow that the event is about.'),
    workflowName: z.string().nullable().describe('Name of this workflow.'),
    ...runOutputs,
    errorMessage: z.string().nullable().describe('Why the run failed, or why the trigger was suspended.'),
    triggeringRun: z
      .object({ ...runOutputs, errorMessage: z.string().nullable().describe('Why it has failed.') })
      .nullable()
      .describe(
        'Only for conditions: the run that met the condition. For events, its fields are at the top level.',
      ),
    version: z.number().nullable().describe('workflow_deployed: the version that became live.'),
    credential: z
      .object({
        id: z.string().describe('Its id.'),
        name: z.string().nullable().describe('Its name.'),
        provider: z.string().nullable().describe('Its provider.'),
        change: z.enum(['created', 'updated', 'deleted']).nullable().describe('What was done.'),
      })
      .nullable()
      .describe('credential_reconnect, credential_changed: the credential.'),
  }),
};
