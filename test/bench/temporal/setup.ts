import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findServer, POLL_LIMITS, startDevServer } from '@heddle/temporal/server';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import type { Setup } from './worker-groups.ts';

const NAMESPACE = 'heddle-bench';

/** The server and the bundle that both contenders use, with a description. */
export interface PreparedSetup extends Setup {
  /** The server and its settings, in one line. */
  description: string;
  close(): Promise<void>;
}

/** Finds or starts a server, and bundles the hand-written workflows. Throws if there is no server. */
export async function prepareSetup(log: (text: string) => void): Promise<PreparedSetup> {
  const { address, namespace, description, stop } = await findOrStartServer(log);
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const bundlePath = join(folder, 'baseline-workflows.js');
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('baseline-workflows.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });
  writeFileSync(bundlePath, code);
  return {
    server: { address, namespace },
    bundlePath,
    description,
    close: async () => {
      rmSync(folder, { recursive: true });
      await stop();
    },
  };
}

async function findOrStartServer(log: (text: string) => void) {
  const searchResult = await findServer({ env: process.env, log });
  if (searchResult.kind === 'none') throw new Error(searchResult.reason);
  if (searchResult.kind === 'address') {
    const { address } = searchResult;
    const namespace = process.env['TEMPORAL_NAMESPACE'] ?? 'default';
    return {
      address,
      namespace,
      description: `the server at ${address}, unknown settings`,
      stop: async () => {},
    };
  }
  const startResult = await startDevServer({ binary: searchResult.binary.path, namespace: NAMESPACE });
  if (startResult.kind === 'failed') throw new Error(startResult.reason);
  const { server } = startResult;
  const settings = Object.entries(POLL_LIMITS).map(([name, value]) => `${name}=${value}`);
  return {
    address: server.address,
    namespace: server.namespace,
    description: `development server ${searchResult.binary.serverVersion} in memory, ${settings.join(', ')}`,
    stop: () => server.stop(),
  };
}
