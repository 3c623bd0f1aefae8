import { join } from 'node:path';
import type { DevServer } from '@heddle/temporal/server';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { readEnvValues } from '../input/env-values.ts';
import type { EnvOptions } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import { shellQuote } from '../render/format.ts';
import { DEFAULT_DATA_FOLDER } from '../store-options.ts';
import { styleFor } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import type { RunOptions } from '../run-options.ts';
import { openServer } from '../temporal/dev-server.ts';
import { TEMPORAL_DEFAULTS, serverOptionsOf } from '../temporal/server-options.ts';
import { startWorker } from '../temporal/start-worker.ts';
import { runUntilStopped } from '../temporal/run-until-stopped.ts';

export type DevOptions = Pick<RunOptions, 'json' | 'data'> &
  EnvOptions &
  BlockOptions & {
    port: number;
    namespace?: string;
    queue?: string;
    /** How long running blocks may continue after the first signal, in seconds. */
    grace: number;
  };

/** The content of the ready message. */
interface DevInfo {
  address: string;
  namespace: string;
  queue: string;
  data: string;
  /** URL of the Temporal UI; undefined if the server has none, or was not started here. */
  ui: string | undefined;
  /** Process id of the server; undefined if it was not started here. */
  server: number | undefined;
}

/**
 * Starts a worker, and a development server unless TEMPORAL_ADDRESS names a server. Prints how to use them. Stops what
 * it has started when the process receives a signal.
 */
export async function dev(io: Io, options: DevOptions): Promise<number> {
  const { data, port, grace, queue = TEMPORAL_DEFAULTS.queue } = options;
  const processEnv = readEnv();
  const env = await readEnvValues(options, processEnv);
  const { namespace } = serverOptionsOf(options, processEnv);
  const serverInfo = await openServer(io, { port, namespace, folder: join(data, 'temporal') }, processEnv);
  try {
    const server = { ...serverOptionsOf(options, processEnv), address: serverInfo.address };
    const worker = await startWorker(io, { ...options, server, data, queue, env });
    const { address, uiUrl } = serverInfo;
    const info = { address, namespace, queue, data, ui: uiUrl, server: serverInfo.server?.pid };
    return await runUntilStopped(io, worker, {
      onReady: () => printReady(io, info, options),
      drainMs: grace * 1000,
      failure: failureOf(serverInfo.server),
    });
  } finally {
    await serverInfo.server?.stop();
  }
}

/** Resolves with an error message when the server exits. Never resolves if no server was started here. */
async function failureOf(server: DevServer | undefined): Promise<string> {
  if (!server) return new Promise(() => undefined);
  return `The Temporal server has stopped: ${await server.exited}.`;
}

function printReady(io: Io, info: DevInfo, { json }: { json: boolean }): void {
  if (json) {
    io.stdout.write(`${JSON.stringify({ ready: true, ...info, pid: process.pid })}\n`);
    return;
  }
  const { address, namespace, queue, data, ui } = info;
  const style = styleFor(io.stdout);
  const rows = [
    ['server', `${address}, namespace ${namespace}`],
    ...(ui === undefined ? [] : [['UI', ui]]),
    ['queue', queue],
    ['data', data],
  ];
  const lines = [
    `${style.green('✓')} ${style.bold('A Temporal server and a worker are ready')}`,
    ...tableLines(rows.map(([name = '', value = '']) => [`  ${style.dim(name)}`, value])),
    `  ${style.cyan('→')} heddle run FILE ${runArgs(info).map(shellQuote).join(' ')}`,
    style.dim('Ctrl-C stops both.'),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

/** Returns the arguments of `heddle run` for this server and worker, without defaults. */
function runArgs({ address, namespace, queue, data }: DevInfo): string[] {
  const values = { address, namespace, queue };
  const names = (['address', 'namespace', 'queue'] as const).filter(
    (name) => values[name] !== TEMPORAL_DEFAULTS[name],
  );
  return [
    '--runtime',
    'temporal',
    '--no-worker',
    ...names.flatMap((name) => [`--${name}`, values[name]]),
    ...(data === DEFAULT_DATA_FOLDER ? [] : ['--data', data]),
  ];
}
