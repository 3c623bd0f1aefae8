import type { JsonObject } from '@heddle/core/blocks';
import type { DriverCall } from '../driver.ts';
import { expectFound, idIn, knowledgeOf } from './base.ts';

/** Lists the connectors of a knowledge base. */
export async function listConnectors(call: DriverCall): Promise<JsonObject> {
  const knowledgeBaseId = idIn(call, 'knowledgeBaseId');
  const connectors = expectFound(await knowledgeOf(call).connectors(knowledgeBaseId), call);
  return { knowledgeBaseId, connectors, totalConnectors: connectors.length };
}

/** Shows a connector with its latest syncs. */
export async function showConnector(call: DriverCall): Promise<JsonObject> {
  return expectFound(await knowledgeOf(call).connector(connectorIdsOf(call)), call);
}

/** Starts a sync. */
export async function startSync(call: DriverCall): Promise<JsonObject> {
  const ids = connectorIdsOf(call);
  expectFound(await knowledgeOf(call).sync(ids, call.idempotencyKey), call);
  return { connectorId: ids.connectorId, message: 'A sync of the connector was started.' };
}

function connectorIdsOf(call: DriverCall): { knowledgeBaseId: string; connectorId: string } {
  return { knowledgeBaseId: idIn(call, 'knowledgeBaseId'), connectorId: idIn(call, 'connectorId') };
}
