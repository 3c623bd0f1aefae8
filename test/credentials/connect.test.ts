import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openServiceStore } from '@heddle/service';
import { OAuthClients, readOAuthClients } from '@heddle/service/credentials';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddle, type RunningCommand } from '../support/heddle.ts';
import { startOAuthServer } from '../support/oauth-server.ts';
import type { OAuthServerOptions } from '../support/oauth-server.ts';

const CLIENT = { clientId: 'heddle', clientSecret: 'the-secret-of-the-client' };

async function createOAuthServer(options: OAuthServerOptions = {}) {
  const server = await startOAuthServer({ expiresIn: 3600, ...options });
  onTestFinished(() => server.close());
  return server;
}

/**
 * Acts like a browser: opens the authorization URL and follows its redirect, whose URL `changeCallbackUrl` can modify
 * first.
 */
async function browse(
  url: string,
  changeCallbackUrl: (callbackUrl: URL) => void = () => undefined,
): Promise<Response> {
  const response = await fetch(url, { redirect: 'manual' });
  const callbackUrl = new URL(response.headers.get('location') ?? '');
  changeCallbackUrl(callbackUrl);
  return fetch(callbackUrl);
}

describe('heddle credentials add --oauth', { timeout: 120_000 }, () => {
  /** Starts an OAuth server, and creates a data folder with a workspace and a client of the server. */
  async function setUp() {
    const server = await createOAuthServer();
    const dataFolder = createDataFolder();
    const store = await openServiceStore({ data: dataFolder });
    await store.workspaces.bootstrap();
    await store.close();
    const file = join(dataFolder, 'clients.json');
    const shop = {
      ...CLIENT,
      issuer: server.origin,
      scopes: ['openid', 'orders'],
      parameters: { prompt: 'consent' },
    };
    writeFileSync(file, JSON.stringify({ shop }));
    const env = { HEDDLE_OAUTH_CLIENTS: file };
    const startAddCommand = (...options: string[]) =>
      startHeddle(
        [
          'credentials',
          'add',
          'Shop',
          '--provider',
          'shop',
          '--oauth',
          '--data',
          dataFolder,
          '--json',
          ...options,
        ],
        { env },
      );
    return { server, data: dataFolder, env, startAddCommand };
  }

  it('connects an account with PKCE, and ignores forged redirects', async () => {
    const { server, data, env, startAddCommand: add } = await setUp();
    const command = add();
    const url = await readAuthorizationUrl(command);
    const { searchParams } = new URL(url);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'heddle',
      scope: 'openid orders',
      prompt: 'consent',
      code_challenge_method: 'S256',
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/) as string,
    });
    expect(searchParams.get('state')?.length).toBeGreaterThan(40);
    expect((await browse(url, (callbackUrl) => callbackUrl.searchParams.set('state', 'forged'))).status).toBe(
      400,
    );
    expect((await browse(url, (callbackUrl) => callbackUrl.searchParams.delete('state'))).status).toBe(400);
    expect((await browse(url, (callbackUrl) => (callbackUrl.pathname = '/other'))).status).toBe(404);
    const pageResponse = await browse(url);
    expect(pageResponse.status).toBe(200);
    expect(pageResponse.headers.get('cache-control')).toBe('no-store');
    const { exitCode, stdout, stderr } = await command.result;
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      data: { name: 'Shop', provider: 'shop', type: 'oauth', account: 'ada@example.com', state: 'connected' },
    });
    expect(server.requests).toMatchObject([
      { parameters: { grant_type: 'authorization_code', client_secret: CLIENT.clientSecret } },
    ]);
    const listResult = await runHeddle(['credentials', 'list', '--data', data], { env });
    expect(listResult.stdout).toContain('connected');
    expect(stdout + stderr + listResult.stdout).not.toMatch(/\b[ar]t-|the-secret-of-the-client/);
  });

  it('stops if no answer arrives in time, and if the person refuses', async () => {
    const { server, startAddCommand: add } = await setUp();
    const timedOutResult = await add('--timeout', '0.2').result;
    expect(timedOutResult).toMatchObject({ exitCode: 2 });
    expect(timedOutResult.stderr).toContain('There was no answer within 0.2 seconds.');
    const command = add();
    const url = await readAuthorizationUrl(command);
    await browse(url, (callbackUrl) => {
      callbackUrl.searchParams.delete('code');
      callbackUrl.searchParams.set('error', 'access_denied');
    });
    const { exitCode, stderr } = await command.result;
    expect(exitCode).toBe(2);
    expect(stderr).toContain('shop issued no token (access_denied).');
    expect(server.requests).toEqual([]);
  });

  it('reports errors in the configuration of clients without their secrets', async () => {
    const { data, env, startAddCommand: add } = await setUp();
    const args = ['credentials', 'add', 'Shop', '--oauth', '--data', data, '--provider'];
    expect((await runHeddle([...args, 'other'], { env })).stderr).toContain(
      'There is no OAuth client for other in the configuration.',
    );
    expect((await runHeddle([...args, 'shop'])).stderr).toContain('There is no OAuth client for shop');
    for (const [content, message] of [
      [`{"shop": "the-secret-of-the-client"`, 'The file of OAuth clients is not JSON.'],
      [JSON.stringify({ shop: CLIENT }), 'shop: set either '],
      [
        JSON.stringify({ shop: { ...CLIENT, issuer: 'http://shop.example' } }),
        'shop.issuer: must be an https URL',
      ],
    ] as const) {
      writeFileSync(env.HEDDLE_OAUTH_CLIENTS, content);
      const { exitCode, stderr } = await add().result;
      expect(exitCode).toBe(2);
      expect(stderr).toContain(message);
      expect(stderr).not.toContain('the-secret-of-the-client');
    }
  });
});

/** Returns the authorization URL that the command prints. */
async function readAuthorizationUrl(command: RunningCommand): Promise<string> {
  let output = '';
  command.child.stderr?.on('data', (text: string) => (output += text));
  await command.waitForText('state=');
  await command.waitForText('\n');
  return /http\S+/.exec(output)?.[0] ?? '';
}

describe('an OAuth client', () => {
  const createClients = (shop: object, egress = {}) =>
    new OAuthClients({ clients: readOAuthClients(JSON.stringify({ shop })), egress });
  const redirectUri = 'http://127.0.0.1:1/callback';

  it('gets no token for a code with the verifier or state of another authorization', async () => {
    const server = await createOAuthServer();
    const clients = createClients({ ...CLIENT, issuer: server.origin });
    const [firstAuthorization, secondAuthorization] = [
      await clients.authorize('shop', redirectUri),
      await clients.authorize('shop', redirectUri),
    ];
    const response = await fetch(firstAuthorization.url, { redirect: 'manual' });
    const callbackUrl = new URL(response.headers.get('location') ?? '');
    await expect(clients.exchange('shop', secondAuthorization, callbackUrl)).rejects.toMatchObject({
      name: 'OAuthError',
    });
    expect(server.requests).toEqual([]);
    const authorizationWithOtherVerifier = {
      ...firstAuthorization,
      codeVerifier: secondAuthorization.codeVerifier,
    };
    await expect(clients.exchange('shop', authorizationWithOtherVerifier, callbackUrl)).rejects.toMatchObject(
      {
        code: 'invalid_grant',
      },
    );
  });

  it('sends its secret in a header if the server requires it, and no secret if it has none', async () => {
    const server = await createOAuthServer();
    const endpoints = { authorizationUrl: `${server.origin}/authorize`, tokenUrl: `${server.origin}/token` };
    await createClients({ ...CLIENT, ...endpoints, authentication: 'basic' }).refresh(
      'shop',
      server.issueRefreshToken(),
    );
    await createClients({ clientId: 'public', ...endpoints }).refresh('shop', server.issueRefreshToken());
    const [basicRequest, publicRequest] = server.requests;
    expect(basicRequest?.headers.authorization).toMatch(/^Basic /);
    expect(basicRequest?.parameters).not.toHaveProperty('client_secret');
    expect(publicRequest?.parameters).toMatchObject({ client_id: 'public' });
  });

  it('refuses parameters that would overwrite those of the authorization request', async () => {
    const server = await createOAuthServer();
    for (const name of ['redirect_uri', 'state', 'scope', 'code_challenge'])
      expect(() => createClients({ ...CLIENT, issuer: server.origin, parameters: { [name]: 'x' } })).toThrow(
        `shop.parameters.${name}: Heddle sets this parameter itself`,
      );
  });

  it('refuses a published token endpoint at another internal address, and addresses that the operator denies', async () => {
    const otherServer = await createOAuthServer();
    const server = await createOAuthServer({ tokenEndpoint: `${otherServer.origin}/token` });
    const clients = createClients({ ...CLIENT, issuer: server.origin });
    await expect(clients.refresh('shop', 'rt')).rejects.toMatchObject({
      message: 'shop issued no token (EGRESS_DENIED).',
    });
    expect(otherServer.requests).toEqual([]);
    const clientsWithDeniedHost = createClients(
      { ...CLIENT, issuer: server.origin },
      { denyHosts: ['127.0.0.1:*'] },
    );
    await expect(clientsWithDeniedHost.refresh('shop', 'rt')).rejects.toMatchObject({
      message: 'shop issued no token (EGRESS_DENIED).',
    });
  });

  it('sends tokens to the endpoint that the operator names, in place of the one that the issuer publishes', async () => {
    const [namedServer, publishedServer] = [await createOAuthServer(), await createOAuthServer()];
    const server = await createOAuthServer({ tokenEndpoint: `${publishedServer.origin}/token` });
    const clients = createClients({
      ...CLIENT,
      issuer: server.origin,
      tokenUrl: `${namedServer.origin}/token`,
    });
    await clients.refresh('shop', namedServer.issueRefreshToken());
    expect((await clients.authorize('shop', redirectUri)).url).toContain(`${server.origin}/authorize`);
    expect([namedServer.requests.length, publishedServer.requests.length]).toEqual([1, 0]);
    expect(() =>
      createClients({
        ...CLIENT,
        issuer: server.origin,
        authorizationUrl: `${namedServer.origin}/authorize`,
      }),
    ).toThrow('shop: set either "issuer"');
  });
});
