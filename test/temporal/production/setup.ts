import { randomUUID } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { startProductionServer } from './server.ts';
import { type ProductionTools, findProductionTools } from './tools.ts';
import { getOrStartServer } from '../../support/postgres-server.ts';
import { reportMissingServer, type OpenServerResult, provideServer } from '../provide-server.ts';

const NAMESPACE = 'heddle-tests';

/** Starts the server that the tests of this project share. Vitest calls this only if the run includes one of them. */
export function setup(project: TestProject): () => Promise<void> {
  const searchResult = findProductionTools();
  const { tools } = searchResult;
  return provideServer(
    project,
    async () => (tools ? start(tools) : reportMissingServer(searchResult.reason)),
    true,
  );
}

async function start(tools: ProductionTools): Promise<OpenServerResult> {
  const postgres = await getOrStartServer(tools.postgres, process.pid);
  const name = `temporal_${randomUUID().replaceAll('-', '')}`;
  const productionServer = await startProductionServer({ tools, postgres, name, namespace: NAMESPACE });
  const { address, namespace, stop } = productionServer;
  return { server: { kind: 'serving', address, namespace, binary: undefined }, stop };
}
