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

const WEBHOOKS_PATH = '/api/v2/webhooks';

type WebhookOptions = RemoteOptions & { json: boolean };

/** Lists the webhooks of the workspace with their URLs. */
export async function listWebhooks(io: Io, options: WebhookOptions): Promise<number> {
  const webhooks = await new ApiClient(options, readEnv()).fetchWorkspaceItems(WEBHOOKS_PATH);
  if (options.json) writeJson(io, { data: webhooks });
  else if (webhooks.length === 0) io.stderr.write('No webhooks.\n');
  else
    writeTable(
      io,
      ['WORKFLOW', 'BLOCK', 'STATE', 'SIGNED', 'HOOK', 'LAST', 'URL', 'REFUSED'],
      webhooks.map(webhookRow),
    );
  return EXIT.completed;
}

function webhookRow(webhook: JsonObject): string[] {
  const signed = getOwn(webhook, 'isSigned') === true ? 'yes' : 'no';
  const refusals = getOwn(webhook, 'refusals');
  const [latest] = Array.isArray(refusals) ? refusals.filter(isJsonObject) : [];
  const latestRefusal = latest ? `${stringAt(latest, 'reason')} (${stringAt(latest, 'lastAt')})` : '-';
  const names = [stringAt(webhook, 'workflowName'), stringAt(webhook, 'name'), stringAt(webhook, 'state')];
  const hook = getOwn(webhook, 'hook');
  const hookState = isJsonObject(hook) ? providerState(hook) : '-';
  return [
    ...names,
    signed,
    hookState,
    stringAt(webhook, 'lastDeliveryAt') || '-',
    stringAt(webhook, 'url'),
    latestRefusal,
  ].map(sanitizeLine);
}

/** Returns the state of the webhook at its provider, with its error. */
function providerState(hook: JsonObject): string {
  const error = stringAt(hook, 'error');
  return error ? `${stringAt(hook, 'state')} (${error})` : stringAt(hook, 'state');
}

/** Lists the latest deliveries of a webhook, up to `limit`. */
export async function listDeliveries(
  io: Io,
  webhook: string,
  { limit, ...options }: WebhookOptions & { limit: number },
): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const path = await findWebhookPath(client, webhook);
  const deliveries = await client.fetchFirstItems(`${path}/deliveries`, limit);
  if (options.json) writeJson(io, { data: deliveries });
  else if (deliveries.length === 0) io.stderr.write('No deliveries.\n');
  else writeTable(io, ['RECEIVED', 'EVENT', 'RUN', 'DUPLICATES', 'FLOW', 'ID'], deliveries.map(deliveryRow));
  return EXIT.completed;
}

function deliveryRow(delivery: JsonObject): string[] {
  const duplicates = getOwn(delivery, 'duplicates');
  return [
    ...[stringAt(delivery, 'receivedAt'), stringAt(delivery, 'event') || '-', stringAt(delivery, 'runId')],
    ...[typeof duplicates === 'number' ? String(duplicates) : '-', flowDecision(delivery)],
    stringAt(delivery, 'id'),
  ].map(sanitizeLine);
}

/** Returns the decision of flow control, and its reason. */
function flowDecision(delivery: JsonObject): string {
  const flow = getOwn(delivery, 'flow');
  if (!isJsonObject(flow)) return '-';
  const reason = stringAt(flow, 'reason');
  return reason ? `${stringAt(flow, 'state')} (${reason})` : stringAt(flow, 'state');
}

/** Starts a run with the input of a delivery. */
export async function replayDelivery(
  io: Io,
  [webhook, delivery]: readonly [string, string],
  options: WebhookOptions,
): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const path = await findWebhookPath(client, webhook);
  const run = dataOf(await client.call('POST', `${path}/deliveries/${encodeURIComponent(delivery)}/replay`));
  if (options.json) writeJson(io, { data: run });
  else io.stdout.write(`${stringAt(run, 'runId')}\n`);
  return EXIT.completed;
}

/** Returns the path of a webhook, by its id, or by the name or id of its workflow. Throws usage errors. */
async function findWebhookPath(client: ApiClient, idOrName: string): Promise<string> {
  const webhook = findTrigger(await client.fetchWorkspaceItems(WEBHOOKS_PATH), idOrName, 'webhook');
  return `${WEBHOOKS_PATH}/${encodeURIComponent(stringAt(webhook, 'id'))}`;
}
