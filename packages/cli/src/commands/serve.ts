import type { Api, ApiStore } from '@heddle/api';
import type { Engine } from '@heddle/engine';
import { openSession, reporter, type Session } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { envValues } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import { storeName } from '../place.ts';
import { styleFor } from '../render/style.ts';
import { table } from '../render/table.ts';
import type { RunOptions } from '../run-options.ts';
import { openRecords, ownershipOf } from '../serve/api-store.ts';
import { listen } from '../serve/listen.ts';
import type { Listening } from '../serve/listen.ts';
import { untilStopped } from '../temporal/until-stopped.ts';

export type ServeOptions = Omit<
  RunOptions,
  'input' | 'mock' | 'mocks' | 'workflows' | 'select' | 'timeout'
> & {
  port: number;
  host: string;
  origin?: string;
  /** Seconds. */
  grace: number;
  /** Days. */
  keepPublicRuns: number;
};

/** What the first start made. */
interface First {
  workspaceId: string;
  key: string;
}

interface Parts {
  engine: Engine;
  api: Api;
  server: Listening;
}

const DAY_MS = 24 * 3_600_000;

/** Serves the HTTP interface until a signal ends it. */
export async function serve(io: Io, options: ServeOptions): Promise<number> {
  const env = await envValues(options, readEnv());
  const { promise: ready, resolve: open, reject: fail } = Promise.withResolvers<Api>();
  ready.catch(() => undefined);
  // Before anything is made: a first key that nobody was shown would be lost. Who calls meanwhile waits.
  const server = await listen(async (request) => (await ready).fetch(request), options);
  let store: ApiStore | undefined;
  let session: Session | undefined;
  try {
    store = await openRecords(options);
    const { workflows, workspaces } = store;
    const ownership = ownershipOf(
      {
        resolveChild: (caller, reference) => workflows.resolveChild(caller, reference),
        tenant: (workflowId) => workflows.tenant(workflowId),
        oldestWorkspace: () => workspaces.oldest(),
      },
      env,
    );
    session = await openSession(io, { ...options, env, takeUp: true, ownership });
    const { engine } = session;
    const { createApi } = await import('@heddle/api');
    const { compat, origin, keepPublicRuns } = options;
    const publicRunRetentionMs = keepPublicRuns * DAY_MS;
    const report = reporter(io);
    const onError = (error: unknown): void => report(error, undefined);
    // Never the `Host` of a request: a caller would choose where addresses in answers lead.
    const addressed = { origin: origin ?? server.origin };
    const api = await createApi({ engine, store, compat, onError, publicRunRetentionMs, ...addressed });
    const first = await firstOf(store);
    open(api);
    return await untilStopped(io, staffOf({ engine, api, server }), {
      ready: () => say(io, { url: server.url, first }, options),
      drainMs: options.grace * 1000,
      broken: server.failed.then(({ message }) => `The server cannot go on: ${message}`),
    });
  } catch (error) {
    fail(error);
    server.close();
    throw error;
  } finally {
    await session?.close();
    await store?.close();
  }
}

/** The first person's workspace and key, when this is the first start. */
async function firstOf(store: ApiStore): Promise<First | undefined> {
  const began = await store.workspaces.bootstrap();
  if (!began) return undefined;
  const { userId, workspaceId } = began;
  const { key } = await store.keys.create({ userId }, 'first');
  return { workspaceId, key };
}

/** What is stopped in order: no more requests, no more starts, then the runs, and the connections that wait for them. */
function staffOf({ engine, api, server }: Parts): Parameters<typeof untilStopped>[1] {
  return {
    // It ends only when it is told to.
    finished: new Promise(() => undefined),
    async stop({ drainMs } = {}) {
      server.close();
      await api.close();
      await engine.close({ graceMs: drainMs ?? 0 });
      await server.ended();
    },
  };
}

function say(io: Io, { url, first }: { url: string; first: First | undefined }, options: ServeOptions): void {
  if (options.json) {
    io.stdout.write(`${JSON.stringify({ ready: true, url, ...first, pid: process.pid })}\n`);
    return;
  }
  const style = styleFor(io.stdout);
  const rows = [
    ['address', url],
    ['records', storeName(options)],
    ...(first ? [['workspace', first.workspaceId]] : []),
    ...(first ? [['key', `${first.key} ${style.dim('(shown this once)')}`]] : []),
  ];
  const lines = [
    `${style.green('✓')} ${style.bold('The HTTP interface is ready')}`,
    ...table(rows.map(([name = '', value = '']) => [`  ${style.dim(name)}`, value])),
    ...(first
      ? [
          `  ${style.cyan('→')} In another shell, make a workflow live:`,
          `    export HEDDLE_URL=${url} HEDDLE_WORKSPACE=${first.workspaceId} HEDDLE_API_KEY=${first.key}`,
          '    heddle deploy FILE',
        ]
      : []),
    style.dim('Ctrl-C ends it.'),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}
