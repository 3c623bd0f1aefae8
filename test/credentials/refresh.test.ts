import type { CredentialQuery } from '@heddle/engine';
import { parseKeys, openServiceStore, Sealer } from '@heddle/service';
import type { SealingKeys } from '@heddle/service';
import {
  listCredentials,
  OAuthClients,
  readOAuthClients,
  storeCredential,
  storedCredentials,
} from '@heddle/service/credentials';
import type { CredentialEvent } from '@heddle/service/credentials';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { startOAuthServer } from '../support/oauth-server.ts';
import type { OAuthServerOptions } from '../support/oauth-server.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';

const KEYS = parseKeys(Buffer.alloc(32, 1).toString('base64'));
const MINUTE_MS = 60_000;
/** The lease of a refresh. After it, another process takes over the refresh of a killed process. */
const LEASE_MS = 30_000;

const DATABASES = storesToTest('access tokens');

describe.each(DATABASES)('access tokens on %s', (database) => {
  let url = '';
  beforeAll(async () => {
    if (database === 'postgres') url = await createPostgresDatabase();
  });

  /** Starts an OAuth server, and creates a workspace with a token of the server that expires in `expiresInMs`. */
  async function setUp({
    expiresInMs = 10_000,
    timeoutMs = 30_000,
    ...options
  }: OAuthServerOptions & { expiresInMs?: number; timeoutMs?: number } = {}) {
    const server = await startOAuthServer({ expiresIn: 3600, ...options });
    onTestFinished(() => server.close());
    const storeOptions =
      database === 'postgres' ? { postgres: { url }, secret: 'x'.repeat(32) } : { data: createDataFolder() };
    const clock = { nowMs: Date.parse('2026-01-01T00:00:00Z') };
    /** Opens the store and the credentials as one process does. */
    const startProcess = async (keys: SealingKeys = KEYS) => {
      const store = await openServiceStore(storeOptions);
      onTestFinished(() => store.close());
      const sealer = new Sealer(keys);
      const errorMessages: string[] = [];
      const events: CredentialEvent[] = [];
      const now = (): number => clock.nowMs;
      const shop = {
        authorizationUrl: `${server.origin}/authorize`,
        tokenUrl: `${server.origin}/token`,
        clientId: 'heddle',
      };
      const credentials = storedCredentials(store.database, sealer, {
        clients: new OAuthClients({
          clients: readOAuthClients(JSON.stringify({ shop })),
          ...{ timeoutMs, now },
        }),
        onError: (error) => void errorMessages.push((error as Error).message),
        onEvent: (event) => void events.push(event),
        now,
        wait: () => new Promise((resolve) => void setImmediate(resolve)),
      });
      const readSecret = async (query: CredentialQuery = { provider: 'shop', type: 'oauth' }) =>
        (await credentials.find(workspaceId, query))?.secret;
      return { store, sealer, errorMessages, events, readSecret };
    };
    const setupStore = await openServiceStore(storeOptions);
    onTestFinished(() => setupStore.close());
    const userId = await setupStore.workspaces.createUser({
      email: `${crypto.randomUUID()}@x.test`,
      name: 'A',
    });
    const workspaceId = await setupStore.workspaces.createWorkspace('Mine', userId);
    const connect = (
      expiresMs = clock.nowMs + expiresInMs,
      refreshToken: string | null = server.issueRefreshToken(),
    ) =>
      storeCredential(setupStore.database, new Sealer(KEYS), {
        ...{ workspaceId, name: 'Shop', provider: 'shop' },
        material: {
          ...{ type: 'oauth', accessToken: 'at-present', expiresMs },
          ...(refreshToken !== null && { refreshToken }),
        },
      });
    const { credential } = await connect();
    const readState = async () => (await listCredentials(setupStore.database, workspaceId))[0]?.state;
    const readAuditEvents = () => setupStore.audit.listByResource(credential.id);
    return { server, clock, startProcess, connect, credential, readState, readAuditEvents, workspaceId };
  }

  it('are refreshed once before they expire, and stored', async () => {
    const { server, clock, startProcess } = await setUp({ expiresInMs: 2 * MINUTE_MS });
    const { readSecret } = await startProcess();
    expect(await readSecret()).toBe('at-present');
    expect(server.requests).toEqual([]);
    clock.nowMs += MINUTE_MS + 1;
    const nextToken = await readSecret();
    expect(nextToken).toMatch(/^at-[0-9a-f-]{36}$/);
    expect(await readSecret()).toBe(nextToken);
    expect(await (await startProcess()).readSecret()).toBe(nextToken);
    expect(server.requests).toMatchObject([
      { parameters: { grant_type: 'refresh_token', client_id: 'heddle' } },
    ]);
  });

  it.each([true, false])(
    'are refreshed with the latest refresh token (the server rotates refresh tokens: %s)',
    async (rotates) => {
      const { server, clock, startProcess } = await setUp({ rotatesRefreshTokens: rotates });
      const { readSecret } = await startProcess();
      const tokens = new Set<string | undefined>();
      for (let round = 0; round < 3; round++) {
        tokens.add(await readSecret());
        clock.nowMs += 3600_000;
      }
      expect(tokens.size).toBe(3);
      const usedTokens = new Set(server.requests.map(({ parameters }) => parameters['refresh_token']));
      expect(usedTokens.size).toBe(rotates ? 3 : 1);
    },
  );

  it('that have expired are refreshed by one process while the others wait', async () => {
    const { server, startProcess } = await setUp({ rotatesRefreshTokens: true, expiresInMs: 0 });
    const processes = [await startProcess(), await startProcess(), await startProcess()];
    const secrets = await Promise.all(
      processes.flatMap(({ readSecret }) => Array.from({ length: 5 }, () => readSecret())),
    );
    expect(server.requests).toHaveLength(1);
    expect(new Set(secrets)).toEqual(new Set([await processes[0]?.readSecret()]));
  });

  it('stay in use in other processes while one refreshes them', async () => {
    const { server, startProcess } = await setUp({ rotatesRefreshTokens: true, expiresInMs: 20_000 });
    const { promise: requestPromise, resolve: onRequest } = Promise.withResolvers<void>();
    const { promise: responsePromise, resolve: respond } = Promise.withResolvers<void>();
    server.faults.push({
      beforeRead() {
        onRequest();
        return responsePromise;
      },
    });
    const refreshPromise = (await startProcess()).readSecret();
    await requestPromise;
    const otherProcess = await startProcess();
    expect(await otherProcess.readSecret()).toBe('at-present');
    respond();
    const nextToken = await refreshPromise;
    expect(nextToken).toMatch(/^at-[0-9a-f-]{36}$/);
    expect(await otherProcess.readSecret()).toBe(nextToken);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['responds with 500', { status: 500, body: { error: 'server_error' } }],
    ['responds with 500 and text', { status: 500, body: 'rt-of-the-server' }],
    [
      'responds with 503 and the OAuth code of a client error',
      { status: 503, body: { error: 'invalid_grant' } },
    ],
    ['responds without a token', { status: 200, body: {} }],
    ['sends an invalid token', { status: 200, body: { access_token: 'at\r\nX: y', token_type: 'bearer' } }],
    ['redirects', { status: 307, headers: { Location: 'http://127.0.0.1:1/token' } }],
    ['is slow', { beforeRead: () => new Promise<void>((resolve) => onTestFinished(() => resolve())) }],
  ])('stay in use while they are valid if the server %s, and are refreshed later', async (title, fault) => {
    const { server, clock, startProcess, readState } = await setUp(
      title === 'is slow' ? { timeoutMs: 500 } : {},
    );
    const { readSecret, errorMessages: reports, events } = await startProcess();
    server.faults.push(fault, fault);
    expect(await readSecret()).toBe('at-present');
    expect(reports).toMatchObject([expect.stringContaining('"Shop" of shop cannot be refreshed: ')]);
    clock.nowMs += 6_000;
    const failure = await readSecret().catch((error: unknown) => String(error));
    expect(failure).toContain('The token of the credential "Shop" of shop cannot be refreshed: ');
    expect([failure, ...reports].join()).not.toMatch(/rt-|at-/);
    expect(await readSecret()).toMatch(/^at-[0-9a-f-]{36}$/);
    expect(await readState()).toBe('connected');
    expect(events).toEqual([]);
  });

  it('that the server no longer refreshes set the state of the credential to reconnect, once', async () => {
    const { server, startProcess, readState, connect, credential, readAuditEvents, workspaceId } =
      await setUp();
    server.revokeRefreshTokens();
    const processes = [await startProcess(), await startProcess()];
    const results = await Promise.all(
      processes.map(async ({ readSecret }) => readSecret().catch((error: unknown) => error as Error)),
    );
    // One process may have used the old token during the refresh by the other process.
    for (const failure of results.filter((result) => typeof result !== 'string'))
      expect(failure).toMatchObject({
        code: 'CREDENTIAL_RECONNECT',
        message:
          'The credential "Shop" of shop is no longer accepted by the provider. Connect the account again.',
        details: { credentialId: credential.id },
      });
    for (const { readSecret } of processes)
      await expect(readSecret()).rejects.toMatchObject({ code: 'CREDENTIAL_RECONNECT' });
    expect(server.requests).toHaveLength(1);
    expect(await readState()).toBe('reconnect');
    expect(processes.flatMap(({ events }) => events)).toEqual([
      {
        type: 'credential.reconnect',
        workspaceId,
        credentialId: credential.id,
        name: 'Shop',
        provider: 'shop',
      },
    ]);
    expect(await readAuditEvents()).toMatchObject([
      { action: 'CREDENTIAL_RECONNECT_REQUIRED', workspace_id: workspaceId, user_id: null },
    ]);
    expect(await connect()).toMatchObject({
      isNew: false,
      credential: { id: credential.id, state: 'connected' },
    });
    expect(await processes[0]?.readSecret()).toMatch(/^at-[0-9a-f-]{36}$/);
  });

  it('that a person connects during a refused refresh are used', async () => {
    const { server, clock, startProcess, connect, readState } = await setUp();
    const { readSecret, events } = await startProcess();
    const beforeRead = async (): Promise<void> => {
      await connect(clock.nowMs + 3600_000);
    };
    server.faults.push({ beforeRead, status: 400, body: { error: 'invalid_grant' } });
    expect(await readSecret()).toBe('at-present');
    expect(await readState()).toBe('connected');
    expect(events).toEqual([]);
    clock.nowMs += 3600_000;
    expect(await readSecret()).toMatch(/^at-[0-9a-f-]{36}$/);
  });

  it('do not replace tokens that a person connects during the refresh', async () => {
    const { server, clock, startProcess, connect } = await setUp();
    const { readSecret } = await startProcess();
    const beforeRead = async (): Promise<void> => {
      await connect(clock.nowMs + 3600_000);
    };
    server.faults.push({ beforeRead });
    expect(await readSecret()).toBe('at-present');
    expect(await readSecret()).toBe('at-present');
    expect(server.requests).toHaveLength(1);
  });

  it('that cannot be refreshed are used until they expire', async () => {
    const { server, clock, startProcess, connect, readState } = await setUp();
    await connect(clock.nowMs + 10_000, null);
    const { readSecret } = await startProcess();
    expect(await readSecret()).toBe('at-present');
    clock.nowMs += 6_000;
    await expect(readSecret()).rejects.toMatchObject({ code: 'CREDENTIAL_RECONNECT' });
    expect(await readState()).toBe('reconnect');
    expect(server.requests).toEqual([]);
  });

  it.each([false, true])(
    'are refreshed by another process, or lost if tokens rotate, when a process dies before it stores them (rotates: %s)',
    async (rotates) => {
      const { server, clock, startProcess, readState } = await setUp({
        rotatesRefreshTokens: rotates,
        expiresInMs: 0,
      });
      let isDead = false;
      const crashingProcess = await startProcess({
        find: (id) => KEYS.find(id),
        currentKey() {
          isDead = true;
          throw new Error('The process has died.');
        },
      });
      await expect(crashingProcess.readSecret()).rejects.toThrow('The process has died.');
      expect(isDead).toBe(true);
      expect(server.requests).toHaveLength(1);
      const otherProcess = await startProcess();
      const secretPromise = otherProcess.readSecret();
      clock.nowMs += LEASE_MS;
      if (rotates) await expect(secretPromise).rejects.toMatchObject({ code: 'CREDENTIAL_RECONNECT' });
      else expect(await secretPromise).toMatch(/^at-[0-9a-f-]{36}$/);
      expect(server.requests).toHaveLength(2);
      expect(await readState()).toBe(rotates ? 'reconnect' : 'connected');
    },
  );

  it.each([
    ['before', 'beforeRead'],
    ['after', 'beforeResponse'],
  ] as const)(
    'of a refresh that outlasts its lease are used (the server is slow %s it replaces the tokens)',
    async (moment, faultName) => {
      const { server, clock, startProcess, readState } = await setUp({
        rotatesRefreshTokens: true,
        expiresInMs: 0,
      });
      const { promise: requestPromise, resolve: onRequest } = Promise.withResolvers<void>();
      const { promise: responsePromise, resolve: respond } = Promise.withResolvers<void>();
      const hold = (): Promise<void> => {
        onRequest();
        return responsePromise;
      };
      server.faults.push({ [faultName]: hold });
      const slowSecretPromise = (await startProcess()).readSecret();
      await requestPromise;
      clock.nowMs += LEASE_MS;
      const otherProcess = await startProcess();
      const otherResult = await otherProcess
        .readSecret()
        .catch((error: unknown) => (error as { code: string }).code);
      respond();
      const token = await slowSecretPromise;
      expect(token).toMatch(/^at-[0-9a-f-]{36}$/);
      // Slow before: the other process gets the new tokens, and this process is refused. Slow after: the reverse.
      expect(otherResult).toBe(moment === 'before' ? token : 'CREDENTIAL_RECONNECT');
      expect(await otherProcess.readSecret()).toBe(token);
      expect(await readState()).toBe('connected');
    },
  );

  it('are stored even if the database fails for a moment', async () => {
    const { server, startProcess } = await setUp({ rotatesRefreshTokens: true, expiresInMs: 0 });
    let remainingFailures = 2;
    const { readSecret } = await startProcess({
      find: (id) => KEYS.find(id),
      currentKey() {
        if (remainingFailures-- > 0) throw new Error('The database is gone for a moment.');
        return KEYS.currentKey();
      },
    });
    const nextToken = await readSecret();
    expect(nextToken).toMatch(/^at-[0-9a-f-]{36}$/);
    expect(await (await startProcess()).readSecret()).toBe(nextToken);
    expect(server.requests).toHaveLength(1);
  });

  it('of a provider without a client are used while they are valid', async () => {
    const { clock, startProcess, workspaceId } = await setUp();
    const { store, sealer } = await startProcess();
    const { find } = storedCredentials(store.database, sealer, {
      clients: new OAuthClients({ clients: {} }),
      onError: () => undefined,
      now: () => clock.nowMs,
    });
    expect(await find(workspaceId, { provider: 'shop', type: 'oauth' })).toMatchObject({
      secret: 'at-present',
    });
    clock.nowMs += 10_000;
    await expect(find(workspaceId, { provider: 'shop', type: 'oauth' })).rejects.toThrow(
      'There is no OAuth client for shop in the configuration.',
    );
  });
});
