import type { Api } from '@heddle/api';
import type { BlockDescription, ToolDescription } from '@heddle/blocks';
import type { triggerTypes } from '@heddle/blocks/triggers';
import type { Engine } from '@heddle/engine';
import type { RetentionLimits, Sandboxes, Sealer, ServiceStore } from '@heddle/service';
import type { CredentialProviders, KeyProvider } from '@heddle/service/credentials';
import type { BlockImages, OwnedImages } from '../block-images.ts';
import { openSession, errorReporter, type Session } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { listsOf, readToolFiles } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { readEnvValues } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import { storeName } from '../store-options.ts';
import { styleFor } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import type { RunOptions } from '../run-options.ts';
import { openAccess } from '../serve/access.ts';
import type { AccessOptions, ServerAccess } from '../serve/access.ts';
import { openStore, tenantPortsOf, sealingOf, type TenantPorts } from '../serve/service-store.ts';
import { refreshOptionsOf } from '../serve/oauth-clients.ts';
import { listen } from '../serve/listen.ts';
import { pauseLinksAt } from '../serve/pause-links.ts';
import type { ListeningServer } from '../serve/listen.ts';
import type { TokenOptions } from '../serve/oauth.ts';
import { openStudio } from '../serve/studio.ts';
import { runUntilStopped } from '../temporal/run-until-stopped.ts';

export type ServeOptions = Omit<
  RunOptions,
  'input' | 'mock' | 'mocks' | 'workflows' | 'select' | 'timeout'
> & {
  port: number;
  host: string;
  origin?: string;
  /** How long running blocks may continue after the first signal, in seconds. */
  grace: number;
  /** Days. */
  keepPublicRuns: number;
  /** Days; absent: forever. */
  keepRuns?: number;
  /** Total size of all runs in MiB; absent: no limit. */
  keepRunsMib?: number;
  /** Days. */
  keepReceipts: number;
  /** `NAME=WORKFLOW,WORKFLOW`. */
  mcpServer?: readonly string[];
  /** True to serve the pages of the Studio. */
  studio: boolean;
} & Pick<AccessOptions, 'limits' | 'proxies' | keyof TokenOptions>;

/** The workspace and the key that the first start created. */
interface FirstWorkspace {
  workspaceId: string;
  key: string;
}

interface RunningServer {
  engine: Engine;
  api: Pick<Api, 'close'>;
  server: ListeningServer;
}

const DAY_MS = 24 * 3_600_000;
const MIB = 2 ** 20;

/** Serves the HTTP API until the process receives a signal. */
export async function serve(io: Io, options: ServeOptions): Promise<number> {
  const env = await readEnvValues(options, readEnv());
  const apiFetch = Promise.withResolvers<Api['fetch']>();
  // If no request waits for the API, a rejection would otherwise be unhandled.
  apiFetch.promise.catch(() => undefined);
  // Listens first: if that fails, the first key, which is shown only once, is not created. Requests wait for the API.
  const peerAddresses = new WeakMap<Request, string | undefined>();
  const server = await listen(async (request, peer) => {
    peerAddresses.set(request, peer);
    return (await apiFetch.promise)(request);
  }, options);
  let store: ServiceStore | undefined;
  let access: ServerAccess | undefined;
  let session: Session | undefined;
  let storeComponents: StoreComponents | undefined;
  const onError = errorReporter(io);
  try {
    store = await openStore(options);
    storeComponents = await openStoreComponents(store, options, onError);
    const { connectImages, triggers } = storeComponents;
    const tenantPorts = tenantPortsOf(storeComponents.workerStore, env);
    // The `Host` header of a request is never used: a caller could otherwise choose the host of URLs in responses.
    const origin = options.origin ?? server.origin;
    const sessionOptions = { tenantPorts, connectImages, triggers, pauseLinks: await pauseLinksAt(origin) };
    session = await openSession(io, {
      ...{ ...options, env, recover: true, deletesUnusedImages: true },
      ...sessionOptions,
    });
    const { createApi } = await import('@heddle/api');
    const { servicePorts } = await import('@heddle/service');
    const areas = await openAreas(options, { store, storeComponents, session, tenantPorts });
    const operationIds = areas.flatMap(({ operations }) => Object.values(operations).map(({ id }) => id));
    const firstWorkspace = await createFirstWorkspace(store);
    const studio = await openStudio(options, { store, origin, listeningUrl: server.origin });
    const peerAddressOf = (request: Request): string | undefined => peerAddresses.get(request);
    access = await openAccess(options, { store, operationIds, origin, peerAddressOf, onError, ...studio });
    const api = await createApi({
      ...access.settings,
      ...{ engine: session.engine, database: store, compat: options.compat, onError, origin },
      ports: servicePorts(store, { limits: access.limits }),
      areas,
    });
    const fetch = await withMcpServers(api.fetch, { options, peerAddresses, onError });
    apiFetch.resolve(studio.wrap(access.wrap(fetch)));
    return await runUntilStopped(io, toStoppable({ engine: session.engine, api, server }), {
      onReady: () => printReady(io, { url: server.url, firstWorkspace, studio: studio.browserUrl }, options),
      drainMs: options.grace * 1000,
      failure: server.failure.then(({ message }) => `The server has failed: ${message}`),
    });
  } catch (error) {
    apiFetch.reject(error);
    server.close();
    throw error;
  } finally {
    await session?.close();
    await storeComponents?.sandboxes.close();
    await access?.close();
    await store?.close();
  }
}

/** Returns the areas of the API, which are modules of operations with their own tables. */
async function openAreas(
  options: ServeOptions,
  {
    store,
    storeComponents: { sealer, sandboxes, credentialProviders, triggers },
    session: { network },
    tenantPorts: { environments, tenantCredentials: credentials },
  }: { store: ServiceStore; storeComponents: StoreComponents; session: Session; tenantPorts: TenantPorts },
) {
  const { serviceAreas } = await import('@heddle/service');
  return serviceAreas({
    ...{ store, sealer, sandboxes, describeBlocks, credentialProviders, triggers, environments },
    describeTools: () => describeTools(options),
    retention: retentionOf(options),
    // Network access to sources of feeds and providers of webhooks, and the URL at which providers call this server.
    feeds: { ...network, ...(credentials && { credentials }) },
    webhookRegistrations: { ...network, ...(options.origin !== undefined && { origin: options.origin }) },
  });
}

/** Returns `fetch`, extended by the MCP servers of the options. Throws usage errors. */
async function withMcpServers(
  fetch: Api['fetch'],
  context: {
    options: ServeOptions;
    peerAddresses: WeakMap<Request, string | undefined>;
    onError: (error: unknown) => void;
  },
): Promise<Api['fetch']> {
  const { options, peerAddresses, onError } = context;
  if (!options.mcpServer) return fetch;
  const { withWorkflowTools } = await import('@heddle/service/access');
  const servers = listsOf('--mcp-server', options.mcpServer, 'team=WORKFLOW,WORKFLOW');
  const onInnerRequest = (innerRequest: Request, outerRequest: Request): void =>
    void peerAddresses.set(innerRequest, peerAddresses.get(outerRequest));
  return withWorkflowTools(fetch, { servers, onInnerRequest, onError });
}

/** Returns the descriptions of block types. Loads their schemas, so it is called only for the catalog. */
async function describeBlocks(): Promise<readonly BlockDescription[]> {
  return (await import('@heddle/blocks')).describeBlocks();
}

/** Returns the descriptions of tools. Loads their schemas, so it is called only for the catalog. */
async function describeTools({ tools = [] }: BlockOptions): Promise<readonly ToolDescription[]> {
  const blocks = await import('@heddle/blocks');
  return blocks.describeTools(await readToolFiles(tools));
}

/** Returns the model providers that need keys. Loads the blocks, so it is called only for the list of providers. */
async function loadKeyProviders(): Promise<readonly KeyProvider[]> {
  return (await import('@heddle/blocks')).knownProviders();
}

/** The components of the server that need the store but not the engine. */
interface StoreComponents {
  workerStore: Parameters<typeof tenantPortsOf>[0];
  sealer: Sealer;
  sandboxes: Sandboxes;
  credentialProviders: CredentialProviders;
  triggers: typeof triggerTypes;
  /** Gives the sandboxes the image store of the session, and returns the images for its blocks. */
  connectImages: (images: BlockImages) => OwnedImages;
}

async function openStoreComponents(
  store: ServiceStore,
  options: ServeOptions,
  onError: (error: unknown) => void,
): Promise<StoreComponents> {
  const { definitions, workspaces, database } = store;
  const { resolveChild, tenant } = definitions;
  const { sealer } = await sealingOf(options);
  const { openSandboxes, secretEnvironments } = await import('@heddle/service');
  const { storedSkills } = await import('@heddle/service/skills');
  const { storedCredentials } = await import('@heddle/service/credentials');
  const { triggerTypes } = await import('@heddle/blocks/triggers');
  const refresh = await refreshOptionsOf(options, onError);
  const { promise: blockImages, resolve } = Promise.withResolvers<BlockImages>();
  const sandboxes = openSandboxes({
    store,
    openImageStore: async () => (await blockImages).store(),
    onError,
  });
  return {
    workerStore: {
      ...{ resolveChild, tenant },
      findOldestWorkspaceId: () => workspaces.findOldestId(),
      secrets: secretEnvironments(database, sealer),
      credentials: storedCredentials(database, sealer, refresh),
      skills: storedSkills(database),
    },
    sealer,
    sandboxes,
    credentialProviders: { listKeyProviders: loadKeyProviders, oauthProviderIds: refresh.clients.providers },
    triggers: triggerTypes,
    connectImages(images) {
      resolve(images);
      return {
        open: (id, tenant) => sandboxes.images.open(id, tenant),
        releaseUnused: () => sandboxes.releaseUnused(),
      };
    },
  };
}

/** Returns the retention limits of runs and receipts. */
function retentionOf({ keepRuns, keepRunsMib, keepPublicRuns, keepReceipts }: ServeOptions): RetentionLimits {
  return {
    ...(keepRuns !== undefined && { maxAgeMs: keepRuns * DAY_MS }),
    ...(keepRunsMib !== undefined && { maxBytes: keepRunsMib * MIB }),
    publicRunsMs: keepPublicRuns * DAY_MS,
    receiptsMs: keepReceipts * DAY_MS,
  };
}

/** Creates the first workspace and key, if this is the first start. */
async function createFirstWorkspace(store: ServiceStore): Promise<FirstWorkspace | undefined> {
  const bootstrapResult = await store.workspaces.bootstrap();
  if (!bootstrapResult) return undefined;
  const { userId, workspaceId } = bootstrapResult;
  const { key } = await store.keys.create({ userId }, 'first');
  return { workspaceId, key };
}

/**
 * Returns an object whose `stop` refuses new requests, stops starting runs, lets running blocks finish, and waits for
 * the connections to close, in this order.
 */
function toStoppable({ engine, api, server }: RunningServer): Parameters<typeof runUntilStopped>[1] {
  return {
    // A server ends only when it is stopped.
    finished: new Promise(() => undefined),
    async stop({ drainMs } = {}) {
      server.close();
      await api.close();
      await engine.close({ graceMs: drainMs ?? 0 });
      await server.waitUntilClosed();
    },
  };
}

function printReady(
  io: Io,
  {
    url,
    firstWorkspace,
    studio,
  }: { url: string; firstWorkspace: FirstWorkspace | undefined; studio: string | undefined },
  options: ServeOptions,
): void {
  if (options.json) {
    io.stdout.write(`${JSON.stringify({ ready: true, url, studio, ...firstWorkspace, pid: process.pid })}\n`);
    return;
  }
  const style = styleFor(io.stdout);
  const rows = [
    ['url', url],
    ...(studio === undefined ? [] : [['studio', studio]]),
    ['data', storeName(options)],
    ...(firstWorkspace ? [['workspace', firstWorkspace.workspaceId]] : []),
    ...(firstWorkspace ? [['key', `${firstWorkspace.key} ${style.dim('(shown only once)')}`]] : []),
  ];
  const lines = [
    `${style.green('✓')} ${style.bold('The HTTP API is ready')}`,
    ...tableLines(rows.map(([name = '', value = '']) => [`  ${style.dim(name)}`, value])),
    ...(firstWorkspace
      ? [
          `  ${style.cyan('→')} In another shell, deploy a workflow:`,
          `    export HEDDLE_URL=${url} HEDDLE_WORKSPACE=${firstWorkspace.workspaceId} HEDDLE_API_KEY=${firstWorkspace.key}`,
          '    heddle deploy FILE',
        ]
      : []),
    style.dim('Ctrl-C stops it.'),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}
