import { join } from 'node:path';
import type { DevServer } from '@heddle/temporal/server';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { envValues } from '../input/env-values.ts';
import type { EnvOptions } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import { shellQuote } from '../render/format.ts';
import { DEFAULT_DATA } from '../place.ts';
import { styleFor } from '../render/style.ts';
import { table } from '../render/table.ts';
import type { RunOptions } from '../run-options.ts';
import { openServer } from '../temporal/dev-server.ts';
import { DEFAULTS, serverOf } from '../temporal/server-options.ts';
import { startStaff } from '../temporal/staff.ts';
import { untilStopped } from '../temporal/until-stopped.ts';

export type DevOptions = Pick<RunOptions, 'json' | 'data'> &
  EnvOptions &
  BlockOptions & {
    port: number;
    namespace?: string;
    queue?: string;
    /** Seconds. */
    grace: number;
  };

/** Where things are. */
interface Places {
  address: string;
  namespace: string;
  queue: string;
  data: string;
  /** Temporal's own pages; undefined where the server has none, or is not ours. */
  ui: string | undefined;
  /** Process id of the server; undefined where it is not ours. */
  server: number | undefined;
}

/** Starts a server for development and a worker, says where things are, and ends both at a signal. */
export async function dev(io: Io, options: DevOptions): Promise<number> {
  const { data, port, grace, queue = DEFAULTS.queue } = options;
  const environment = readEnv();
  const env = await envValues(options, environment);
  const { namespace } = serverOf(options, environment);
  const opened = await openServer(io, { port, namespace, folder: join(data, 'temporal') }, environment);
  try {
    const server = { ...serverOf(options, environment), address: opened.address };
    const staff = await startStaff(io, { ...options, server, data, queue, env });
    const { address, ui } = opened;
    const places = { address, namespace, queue, data, ui, server: opened.server?.pid };
    return await untilStopped(io, staff, {
      ready: () => say(io, places, options),
      drainMs: grace * 1000,
      broken: brokenWith(opened.server),
    });
  } finally {
    await opened.server?.stop();
  }
}

async function brokenWith(server: DevServer | undefined): Promise<string> {
  if (!server) return new Promise(() => undefined);
  return `The Temporal server has ended: ${await server.exited}.`;
}

function say(io: Io, places: Places, { json }: { json: boolean }): void {
  if (json) {
    io.stdout.write(`${JSON.stringify({ ready: true, ...places, pid: process.pid })}\n`);
    return;
  }
  const { address, namespace, queue, data, ui } = places;
  const style = styleFor(io.stdout);
  const rows = [
    ['server', `${address}, namespace ${namespace}`],
    ...(ui === undefined ? [] : [['pages', ui]]),
    ['queue', queue],
    ['data', data],
  ];
  const lines = [
    `${style.green('✓')} ${style.bold('A Temporal server and a worker are ready')}`,
    ...table(rows.map(([name = '', value = '']) => [`  ${style.dim(name)}`, value])),
    `  ${style.cyan('→')} heddle run FILE ${runWords(places).map(shellQuote).join(' ')}`,
    style.dim('Ctrl-C ends both.'),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

/** Options of a run against this server and worker: those that are not the defaults. */
function runWords({ address, namespace, queue, data }: Places): string[] {
  const given = { address, namespace, queue };
  const differing = (['address', 'namespace', 'queue'] as const).filter(
    (name) => given[name] !== DEFAULTS[name],
  );
  return [
    '--runtime',
    'temporal',
    '--no-worker',
    ...differing.flatMap((name) => [`--${name}`, given[name]]),
    ...(data === DEFAULT_DATA ? [] : ['--data', data]),
  ];
}
