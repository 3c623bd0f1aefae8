import { randomUUID } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { startFullServer } from '../../support/full-temporal.ts';
import { type FullTools, fullTools } from '../../support/full-temporal-tools.ts';
import { serverOf } from '../../support/postgres-server.ts';
import { noServer, type Opened } from '../opened.ts';

const NAMESPACE = 'heddle-tests';

/** Gives the tests of this project their one full server. Vitest calls it only when one of them is to be run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const found = fullTools();
  const { server, stop } = found.tools ? await start(found.tools) : noServer(found.reason);
  project.provide('temporal', server);
  return stop;
}

async function start(tools: FullTools): Promise<Opened> {
  try {
    const postgres = await serverOf(tools.postgres, process.pid);
    const name = `temporal_${randomUUID().replaceAll('-', '')}`;
    const { address, namespace, stop } = await startFullServer({
      tools,
      postgres,
      name,
      namespace: NAMESPACE,
    });
    return { server: { kind: 'serving', address, namespace, binary: undefined }, stop };
  } catch (error) {
    return noServer((error as Error).message);
  }
}
