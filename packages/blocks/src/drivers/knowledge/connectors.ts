import type { JsonObject } from '@heddle/core/blocks';
import type { DriverCall } from '../driver.ts';
import { found, idIn, knowledgeOf } from './base.ts';

/** Lists the connectors of a knowledge base. */
export async function listConnectors(call: DriverCall): Promise<JsonObject> {
  const knowledgeBaseId = idIn(call, 'knowledgeBaseId');
  const connectors = found(await knowledgeOf(call).connectors(knowledgeBaseId), call);
  return { knowledgeBaseId, connectors, totalConnectors: connectors.length };
}

/** Shows a connector with its latest syncs. */
export async function showConnector(call: DriverCall): Promise<JsonObject> {
  return found(await knowledgeOf(call).connector(placeOf(call)), call);
}

/** Starts a sync. */
export async function startSync(call: DriverCall): Promise<JsonObject> {
  const place = placeOf(call);
  found(await knowledgeOf(call).sync(place, call.idempotencyKey), call);
  return { connectorId: place.connectorId, message: 'A sync of the connector was started.' };
}

function placeOf(call: DriverCall): { knowledgeBaseId: string; connectorId: string } {
  return { knowledgeBaseId: idIn(call, 'knowledgeBaseId'), connectorId: idIn(call, 'connectorId') };
}
