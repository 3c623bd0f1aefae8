import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { ApiClient, dataOf, stringAt } from '../api-client.ts';
import { readEnv } from '../env.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { sanitizeLine } from '../render/style.ts';
import { writeTable } from '../render/table.ts';
import type { RemoteOptions } from '../run-options.ts';
import { findTrigger } from './find-trigger.ts';

const TRIGGERS_PATH = '/api/v2/triggers';

type TriggerOptions = RemoteOptions & { json: boolean };

/** Lists the triggers of the workspace, of all types. */
export async function listTriggers(io: Io, options: TriggerOptions): Promise<number> {
  const triggers = await new ApiClient(options, readEnv()).fetchWorkspaceItems(TRIGGERS_PATH);
  if (options.json) writeJson(io, { data: triggers });
  else if (triggers.length === 0) io.stderr.write('No triggers.\n');
  else {
    const titles = ['WORKFLOW', 'BLOCK', 'TYPE', 'STATE', 'ID', 'EXPIRES', 'ERROR'];
    writeTable(io, titles, triggers.map(triggerRow));
  }
  return EXIT.completed;
}

function triggerRow(trigger: JsonObject): string[] {
  const fields = ['workflowName', 'name', 'type', 'state', 'id'].map((field) => stringAt(trigger, field));
  const health = getOwn(trigger, 'health');
  const { expires, error } = isJsonObject(health)
    ? { expires: stringAt(health, 'expiresAt'), error: stringAt(health, 'lastError') }
    : { expires: '', error: '' };
  return [...fields, expires || '-', error].map(sanitizeLine);
}

/** Lists the latest events of a trigger with the decisions of its flow control, up to `limit`. */
export async function listEvents(
  io: Io,
  trigger: string,
  { limit, ...options }: TriggerOptions & { limit: number },
): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const path = await findTriggerPath(client, trigger);
  const events = await client.fetchFirstItems(`${path}/events`, limit);
  if (options.json) writeJson(io, { data: events });
  else if (events.length === 0) io.stderr.write('No events.\n');
  else writeTable(io, ['RECEIVED', 'KEY', 'STATE', 'REASON', 'RUN'], events.map(eventRow));
  return EXIT.completed;
}

function eventRow(event: JsonObject): string[] {
  return ['receivedAt', 'key', 'state', 'reason', 'runId'].map((field) =>
    sanitizeLine(stringAt(event, field) || '-'),
  );
}

/** Pauses or resumes a trigger. */
export async function changeTrigger(
  io: Io,
  trigger: string,
  { action, ...options }: TriggerOptions & { action: 'pause' | 'resume' },
): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const path = await findTriggerPath(client, trigger);
  const changedTrigger = dataOf(await client.call('POST', `${path}/${action}`));
  const name = `${stringAt(changedTrigger, 'workflowName')} (${stringAt(changedTrigger, 'name')})`;
  if (options.json) writeJson(io, { data: changedTrigger });
  else
    io.stderr.write(`The trigger of ${sanitizeLine(name)} is ${action === 'pause' ? 'paused' : 'active'}.\n`);
  return EXIT.completed;
}

/** Returns the path of a trigger, by its id, or by the name or id of its workflow. Throws usage errors. */
async function findTriggerPath(client: ApiClient, idOrName: string): Promise<string> {
  const trigger = findTrigger(await client.fetchWorkspaceItems(TRIGGERS_PATH), idOrName, 'trigger');
  return `${TRIGGERS_PATH}/${encodeURIComponent(stringAt(trigger, 'id'))}`;
}
