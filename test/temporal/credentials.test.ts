import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import { parseKeys, openWorkerStore, Sealer } from '@heddle/service';
import { OAuthClients, readOAuthClients, storeCredential } from '@heddle/service/credentials';
import { expect, it, onTestFinished } from 'vitest';
import { openServiceStore, tenantOptionsOf, createTestApi } from '../support/api.ts';
import { startModelServer } from '../support/model-server.ts';
import { startOAuthServer } from '../support/oauth-server.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { openClient, fetchHistoryText } from './history.ts';
import { createCluster } from './cluster.ts';

const KEY = 'sk-the-key-of-the-workspace';
const STORES = hasPostgres ? (['a data folder', 'PostgreSQL'] as const) : (['a data folder'] as const);

/** A tool that returns the token of its credential. */
const shopTool: AgentTool = {
  id: 'shop',
  description: 'Lists the orders.',
  parameters: { type: 'object', properties: {} },
  run: async (_args, { credential }) => ({ sent: `Bearer ${(await credential()).secret}` }),
};

describeTemporal('stored credentials', (server) => {
  it.each(STORES)(
    'are used by workers with %s, and are not in histories, logs, records, responses or requests to models',
    async (kind) => {
      const modelServer = await startModelServer(({ number, headers }) =>
        number === 1
          ? { toolCalls: [{ name: 'shop', args: {} }] }
          : number === 2
            ? { text: `You sent ${headers.authorization}.` }
            : { status: 401, message: `The key ${headers.authorization} is not valid.` },
      );
      onTestFinished(() => modelServer.close());
      const oauthServer = await startOAuthServer({ expiresIn: 3600 });
      onTestFinished(() => oauthServer.close());
      const cluster = createCluster(server);
      const postgresUrl = kind === 'PostgreSQL' ? await createPostgresDatabase() : undefined;
      const runStoreOptions = postgresUrl === undefined ? {} : { data: undefined, postgres: postgresUrl };
      const secret = 'x'.repeat(32);
      const serviceLocation =
        postgresUrl === undefined ? { data: cluster.data } : { postgres: { url: postgresUrl } };
      const store = await openServiceStore({ ...serviceLocation, secret });
      const engine = await cluster.openEngine(tenantOptionsOf(store), runStoreOptions as object);
      const sealer = new Sealer(parseKeys(Buffer.alloc(32, 1).toString('base64')));
      const api = await createTestApi({ engine, store, sealer });
      const { workspaceId } = api;
      await storeCredential(store.database, sealer, {
        ...{ workspaceId, name: 'Models', provider: 'openai' },
        material: { type: 'api_key', key: KEY },
      });
      const { credential } = await storeCredential(store.database, sealer, {
        ...{ workspaceId, name: 'Shop', provider: 'shop' },
        material: {
          type: 'oauth',
          accessToken: 'at-expired',
          refreshToken: oauthServer.issueRefreshToken(),
          expiresMs: 0,
        },
      });
      const endpoints = {
        authorizationUrl: `${oauthServer.origin}/authorize`,
        tokenUrl: `${oauthServer.origin}/token`,
      };
      const clients = readOAuthClients(JSON.stringify({ shop: { clientId: 'heddle', ...endpoints } }));
      const errors: unknown[] = [];
      const onError = (error: unknown): void => void errors.push(error);
      const workerStore = await openWorkerStore(serviceLocation, sealer, {
        clients: new OAuthClients({ clients }),
        onError,
      });
      onTestFinished(() => workerStore.close());
      const { services } = modelServer;
      await cluster.startWorker({
        ...(runStoreOptions as object),
        ...{
          resolveChild: workerStore.resolveChild,
          tenant: workerStore.tenant,
          tenantCredentials: workerStore.credentials,
        },
        ...{ blocks: blocks({ tools: [shopTool] }), services, onError },
      });
      const messages = [{ role: 'user', content: 'What did I send?' }];
      const tools = [{ type: 'shop', params: { credential: credential.id } }];
      const askBlock = block('Ask', 'agent', { model: 'gpt-4o', messages, tools });
      const failBlock = block('Fail', 'agent', { model: 'gpt-4o', messages });
      const definition = workflow(
        [askBlock, fn('Next', 'return [<ask.content>, <ask.toolCalls>]'), failBlock],
        ['Start -> Ask -> Next -> Fail'],
      );
      const id = await api.deploy(definition);
      const response = await api.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
      const authorizations = modelServer.requests.map(({ headers }) => headers.authorization);
      expect(authorizations).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`, `Bearer ${KEY}`]);
      expect(oauthServer.requests).toHaveLength(1);
      const { runId = '' } = (await engine.listRuns({ workflowId: id })).runs[0] ?? {};
      const logs = JSON.stringify(await engine.getLogs(runId));
      expect(logs).toContain('You sent Bearer «redacted:Models».');
      expect(logs).toContain('Bearer «redacted:Shop»');
      const run = JSON.stringify(await engine.getRun(runId));
      expect(run).toContain('MODEL_REFUSED');
      const history = await fetchHistoryText(await openClient(server), runId);
      expect(history.length).toBeGreaterThan(1000);
      const outputs = [
        JSON.stringify(response.body),
        logs,
        run,
        history,
        JSON.stringify(modelServer.requests.map(({ body }) => body)),
      ];
      for (const text of [...outputs, errors.map(String).join()])
        expect(text).not.toMatch(/sk-the-key|\bat-|\brt-/);
    },
  );
});
