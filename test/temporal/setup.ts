import type { TestProject } from 'vitest/node';
import { findServer, type FoundServer, startDevServer } from '../../packages/temporal/src/server/index.ts';
import { whyNotReady } from '../../packages/temporal/src/server/ready.ts';
import { noServer, type Opened } from './opened.ts';

const NAMESPACE = 'heddle-tests';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Gives the tests of this project their one server. Vitest calls it only when one of them is to be run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { server, stop } = await open(await findServer({ env: process.env, say }));
  project.provide('temporal', server);
  return stop;
}

async function open(found: FoundServer): Promise<Opened> {
  if (found.kind === 'none') return noServer(found.reason);
  if (found.kind === 'address') return existing(found.address);
  const binary = found.binary.path;
  const started = await startDevServer({ binary, namespace: NAMESPACE });
  if (started.kind === 'failed') return noServer(started.reason);
  const { address, namespace, stop } = started.server;
  return { server: { kind: 'serving', address, namespace, binary }, stop };
}

async function existing(address: string): Promise<Opened> {
  const namespace = process.env['TEMPORAL_NAMESPACE'] ?? 'default';
  const problem = await whyNotReady({ address, namespace, searchAttributes: [] });
  if (problem !== undefined)
    return noServer(`TEMPORAL_ADDRESS=${address}, namespace ${namespace}: ${problem}.`);
  const server = { kind: 'serving', address, namespace, binary: undefined } as const;
  return { server, stop: async () => undefined };
}
