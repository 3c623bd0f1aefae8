import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openServiceStore } from '@heddle/service';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';

const ISSUER = 'https://id.example.com';
const AUDIENCE = 'https://heddle.example.com';

const createSigner = (kid: string) => ({ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) });
type Signer = ReturnType<typeof createSigner>;

/** Starts an identity provider with the keys of `signers`, and with introspection of the tokens in `opaqueTokens`. */
async function startProvider(signers: Signer[]) {
  const opaqueTokens = new Map<string, object>();
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const token = new URLSearchParams(body).get('token') ?? '';
      const keys = signers.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid }));
      const responseBody =
        request.url === '/jwks' ? { keys } : (opaqueTokens.get(token) ?? { active: false });
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(responseBody));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return { opaqueTokens, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function signToken({ kid, privateKey }: Signer, claims: object): string {
  const [header, payload] = [{ alg: 'ES256', typ: 'at+jwt', kid }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signingInput = `${header}.${payload}`;
  const signature = sign('sha256', Buffer.from(signingInput), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signingInput}.${signature.toString('base64url')}`;
}

/** Starts a server that accepts tokens of the provider. Returns it with the claims of its first user. */
async function startServer(options: readonly string[], env = {}) {
  const dataFolder = createDataFolder();
  const tokenArgs = ['--oauth-user', 'sub', '--oauth-issuer', ISSUER, '--oauth-audience', AUDIENCE];
  const { url, workspaceId } = await startHeddleServe(['--data', dataFolder, ...tokenArgs, ...options], {
    env,
  });
  const store = await openServiceStore({ data: dataFolder });
  const { id: sub } = (await store.workspaces.findFirstUser()) ?? { id: '' };
  await store.close();
  const nowSeconds = Math.floor(Date.now() / 1000);
  return {
    claims: { iss: ISSUER, aud: AUDIENCE, sub, iat: nowSeconds, exp: nowSeconds + 600, scope: 'api:read' },
    workspaceId,
    async call(token: string, method = 'GET', body?: object) {
      const path = method === 'GET' ? `/api/v2/workflows?workspaceId=${workspaceId}` : '/api/v2/workflows';
      const response = await fetch(url + path, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { error } = (await response.json()) as { error?: { details?: { code: string } } };
      const challenge = response.headers.get('www-authenticate') ?? '';
      return { status: response.status, code: error?.details?.code, challenge };
    },
  };
}

describe('heddle serve with access tokens', { timeout: 60_000 }, () => {
  it('accepts signed tokens of its issuer for its audience, within their scopes', async () => {
    const signers = [createSigner('first')];
    const [firstSigner, secondSigner] = [signers[0] as Signer, createSigner('second')];
    const { url } = await startProvider(signers);
    const { call, claims, workspaceId } = await startServer(['--oauth-jwks', `${url}/jwks`]);
    expect(await call(signToken(firstSigner, claims))).toMatchObject({ status: 200 });
    const body = { workspaceId, name: 'Loom' };
    const insufficientScope = { status: 403, code: 'INSUFFICIENT_SCOPE' };
    expect(await call(signToken(firstSigner, claims), 'POST', body)).toMatchObject(insufficientScope);
    const writeToken = signToken(firstSigner, { ...claims, scope: 'api:read api:write' });
    expect(await call(writeToken, 'POST', body)).toMatchObject({ status: 201 });
    const refusal = { status: 401, challenge: expect.stringContaining('oauth-protected-resource') as string };
    for (const claim of [
      { aud: 'https://other.example.com' },
      { iss: 'https://evil.example.com' },
      { exp: claims.iat - 60 },
      { sub: 'nobody' },
    ])
      expect(await call(signToken(firstSigner, { ...claims, ...claim }))).toMatchObject(refusal);
    expect(await call(signToken({ ...secondSigner, kid: 'first' }, claims))).toMatchObject(refusal);
    const [header, , signature] = signToken(firstSigner, claims).split('.');
    const forgedPayload = Buffer.from(JSON.stringify({ ...claims, scope: 'api:write' })).toString(
      'base64url',
    );
    expect(await call(`${header}.${forgedPayload}.${signature}`)).toMatchObject(refusal);
  });

  it('asks the issuer about opaque tokens', async () => {
    const { url, opaqueTokens } = await startProvider([]);
    const env = { HEDDLE_OAUTH_CLIENT_ID: 'heddle', HEDDLE_OAUTH_CLIENT_SECRET: 'client-secret' };
    const { call, claims } = await startServer(['--oauth-introspection', `${url}/introspect`], env);
    opaqueTokens.set('good', { active: true, ...claims });
    opaqueTokens.set('other-audience', { active: true, ...claims, aud: 'https://other.example.com' });
    expect(await call('good')).toMatchObject({ status: 200 });
    expect(await call('other-audience')).toMatchObject({ status: 401 });
    expect(await call('unknown')).toMatchObject({ status: 401 });
  });

  it('does not start if some of the options are missing', async () => {
    const { exitCode, stderr } = await runHeddle([
      'serve',
      '--data',
      createDataFolder(),
      '--oauth-issuer',
      ISSUER,
    ]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Access tokens need --oauth-issuer, --oauth-audience, and --oauth-jwks');
  });
});
