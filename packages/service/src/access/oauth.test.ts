import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, UnsecuredJWT, exportJWK, exportSPKI, generateKeyPair } from 'jose';
import type { JWTPayload } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { userFinderByClaim } from './claims.ts';
import type { IntrospectionOptions } from './introspection.ts';
import type { JwtOptions } from './jwt.ts';
import { combineAuthenticators, oauthAuthenticator } from './oauth.ts';
import type { OAuthOptions } from './oauth.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const NOW_SECONDS = NOW / 1000;
const ISSUER = 'https://issuer.test';
const AUDIENCE = 'https://heddle.test';

const createKeyPair = () => generateKeyPair('ES256', { extractable: true });
const keys = {
  first: await createKeyPair(),
  second: await createKeyPair(),
  rsa: await generateKeyPair('RS256', { extractable: true }),
};
type KeyName = keyof typeof keys;

async function publicJwk(name: KeyName): Promise<object> {
  return { ...(await exportJWK(keys[name].publicKey)), kid: name, use: 'sig' };
}

/** An identity provider on this machine: serves the responses in its fields, and counts requests. */
async function startProvider() {
  const state = {
    keys: ['first', 'rsa'] as KeyName[],
    introspectionResponse: {} as object,
    status: 200,
    padding: 0,
    requestCount: 0,
  };
  const receivedRequests: { authorization: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    state.requestCount += 1;
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      receivedRequests.push({ authorization: request.headers.authorization, body });
      const isJwks = request.url === '/jwks';
      const document = isJwks
        ? { keys: await Promise.all(state.keys.map(publicJwk)) }
        : state.introspectionResponse;
      response.writeHead(state.status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(document) + ' '.repeat(state.padding));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    state,
    receivedRequests,
    url,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

const findUserId = userFinderByClaim('sub', {
  findUserId: (id) => Promise.resolve(id === 'ada' ? 'ada' : undefined),
  findUserIdByEmail: () => Promise.resolve(undefined),
});

function createAuthenticate(options: OAuthOptions) {
  const { authenticate } = oauthAuthenticator(options, findUserId);
  return (bearerToken: string) => authenticate({ apiKey: undefined, bearerToken }, new Headers());
}

async function setUpJwt(overrides: Partial<JwtOptions> = {}) {
  const issuer = await startProvider();
  const jwt = {
    ...{ issuer: ISSUER, audience: AUDIENCE, jwksUrl: `${issuer.url}/jwks`, now: () => NOW },
    ...overrides,
  };
  return { ...issuer, authenticate: createAuthenticate({ jwt }) };
}

const CLAIMS: JWTPayload = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'ada',
  exp: NOW_SECONDS + 600,
  scope: 'openid api:read',
};

function signToken(
  claims: { [name: string]: unknown } = {},
  key: KeyName = 'first',
  header: object = {},
): Promise<string> {
  const alg = key === 'rsa' ? 'RS256' : 'ES256';
  return new SignJWT({ ...CLAIMS, ...claims })
    .setProtectedHeader({ alg, kid: key, ...header })
    .sign(keys[key].privateKey);
}

describe('a signed token', () => {
  it('identifies its user, scopes and expiry, even if it is signed with another allowed algorithm', async () => {
    const { authenticate, state } = await setUpJwt();
    expect(await authenticate(await signToken())).toEqual({
      kind: 'oauth',
      credentialId: expect.stringMatching(/^oauth:[\w-]{32}$/),
      userId: 'ada',
      workspaceId: null,
      scopes: ['api:read'],
      expiresAt: '2026-01-01T00:10:00.000Z',
    });
    expect(await authenticate(await signToken({ scope: 'api:write' }, 'rsa'))).toMatchObject({
      scopes: ['api:write'],
    });
    expect(state.requestCount).toBe(1);
  });

  it.each([
    ['scp as an array', { scope: undefined, scp: ['api:write', 'x'] }, ['api:write']],
    ['scp as a string', { scope: undefined, scp: 'api:read api:write' }, ['api:read', 'api:write']],
    ['neither of these claims', { scope: undefined }, []],
    ['similar names', { scope: 'api:readx API:READ' }, []],
  ])('takes scopes from %s', async (_name, claims, scopes) => {
    const { authenticate } = await setUpJwt();
    expect(await authenticate(await signToken(claims))).toMatchObject({ scopes });
  });

  it.each<[string, { [name: string]: unknown }]>([
    ['is expired', { exp: NOW_SECONDS - 31 }],
    ['never expires', { exp: undefined }],
    ['is not valid yet', { nbf: NOW_SECONDS + 31 }],
    ['is for another audience', { aud: 'https://other.test' }],
    ['has no audience', { aud: undefined }],
    ['has another issuer', { iss: `${ISSUER}/` }],
    ['has no issuer', { iss: undefined }],
    ['has no subject', { sub: undefined }],
    ['has an unknown subject', { sub: 'eve' }],
  ])('is refused when it %s', async (_name, claims) => {
    const { authenticate } = await setUpJwt();
    expect(await authenticate(await signToken(claims))).toBeUndefined();
  });

  it('is accepted within the clock skew', async () => {
    const { authenticate } = await setUpJwt();
    const token = await signToken({ exp: NOW_SECONDS - 29, nbf: NOW_SECONDS + 29 });
    expect(await authenticate(token)).toBeDefined();
  });

  it('is refused with alg none, and with a public key as the secret of HS256', async () => {
    const { authenticate } = await setUpJwt();
    expect(await authenticate(new UnsecuredJWT(CLAIMS).encode())).toBeUndefined();
    const secret = new TextEncoder().encode(await exportSPKI(keys.rsa.publicKey));
    const forgedToken = new SignJWT(CLAIMS).setProtectedHeader({ alg: 'HS256', kid: 'rsa' });
    expect(await authenticate(await forgedToken.sign(secret))).toBeUndefined();
    expect(() => createAuthenticate({ jwt: { ...({} as JwtOptions), algorithms: ['HS256'] } })).toThrow(
      'Tokens cannot be signed with HS256.',
    );
  });

  it('is refused with a changed payload, another signature, and its own key in the header', async () => {
    const { authenticate } = await setUpJwt();
    const [header, , signature] = (await signToken()).split('.');
    const payload = Buffer.from(JSON.stringify({ ...CLAIMS, scope: 'api:write' })).toString('base64url');
    expect(await authenticate(`${header}.${payload}.${signature}`)).toBeUndefined();
    const ownKey = await exportJWK(keys.second.publicKey);
    expect(await authenticate(await signToken({}, 'second', { kid: 'first', jwk: ownKey }))).toBeUndefined();
    expect(await authenticate('a.b.c')).toBeUndefined();
  });

  it('is refused when it is huge, before it is parsed', async () => {
    const { authenticate, state } = await setUpJwt();
    expect(await authenticate(await signToken({ junk: 'x'.repeat(16_384) }))).toBeUndefined();
    expect(state.requestCount).toBe(0);
  });

  it('with an unknown key causes at most one fetch of keys per cooldown', async () => {
    const { authenticate, state } = await setUpJwt();
    for (let n = 0; n < 5; n += 1) expect(await authenticate(await signToken({}, 'second'))).toBeUndefined();
    expect(state.requestCount).toBe(1);
  });

  it('is accepted after a rotation, and refused when its key was removed', async () => {
    const { authenticate, state } = await setUpJwt({ cooldownMs: 0 });
    expect(await authenticate(await signToken())).toBeDefined();
    state.keys = ['second'];
    expect(await authenticate(await signToken({}, 'second'))).toBeDefined();
    expect(await authenticate(await signToken())).toBeUndefined();
  });
});

describe('an issuer', () => {
  it('that is down makes the authenticator fail: the token is not reported as invalid', async () => {
    const { authenticate, close } = await setUpJwt();
    await close();
    await expect(authenticate(await signToken())).rejects.toThrow(
      /^The keys of the issuer at .* are not available\.$/,
    );
  });

  it('that is down is not requested again for each token', async () => {
    const { authenticate, state } = await setUpJwt();
    state.status = 500;
    for (let n = 0; n < 3; n += 1)
      await expect(authenticate(await signToken())).rejects.toThrow('are not available');
    state.status = 200;
    state.padding = 2_000_000;
    const { requestCount } = state;
    await expect(authenticate(await signToken())).rejects.toThrow('are not available');
    expect([requestCount, state.requestCount]).toEqual([1, 1]);
  });

  it('whose keys are too large is not available', async () => {
    const { authenticate, state } = await setUpJwt();
    state.padding = 2_000_000;
    await expect(authenticate(await signToken())).rejects.toThrow('are not available');
  });

  it.each(['http://issuer.test/jwks', 'file:///etc/passwd', 'https://user:pass@issuer.test', 'jwks'])(
    'cannot be at %s',
    (jwksUrl) => {
      const jwt = { issuer: ISSUER, audience: AUDIENCE, jwksUrl };
      expect(() => createAuthenticate({ jwt })).toThrow(RangeError);
    },
  );
});

async function setUpIntrospection(overrides: Partial<IntrospectionOptions> = {}) {
  const server = await startProvider();
  server.state.introspectionResponse = { active: true, ...CLAIMS };
  const clock = { ms: NOW };
  const introspection = {
    ...{ url: `${server.url}/introspect`, clientId: 'heddle:1', clientSecret: 's e/cret' },
    ...{ audience: AUDIENCE, issuer: ISSUER, now: () => clock.ms, ...overrides },
  };
  return { ...server, clock, authenticate: createAuthenticate({ introspection }) };
}

describe('an opaque token', () => {
  it('is introspected with the credentials of the client, once for concurrent requests', async () => {
    const { authenticate, receivedRequests } = await setUpIntrospection();
    const principals = await Promise.all([authenticate('opaque+1'), authenticate('opaque+1')]);
    expect(principals[0]).toMatchObject({ kind: 'oauth', userId: 'ada', scopes: ['api:read'] });
    expect(principals[1]).toEqual(principals[0]);
    const authorization = `Basic ${Buffer.from('heddle%3A1:s+e%2Fcret').toString('base64')}`;
    expect(receivedRequests).toEqual([
      { authorization, body: 'token=opaque%2B1&token_type_hint=access_token' },
    ]);
  });

  it('is introspected again when the response is old, and refused if it was revoked', async () => {
    const { authenticate, state, clock } = await setUpIntrospection();
    expect(await authenticate('opaque')).toBeDefined();
    state.introspectionResponse = { active: false };
    expect(await authenticate('opaque')).toBeDefined();
    clock.ms += 30_000;
    expect(await authenticate('opaque')).toBeUndefined();
    expect(state.requestCount).toBe(2);
  });

  it('is refused when it expires while its response is cached', async () => {
    const { authenticate, clock } = await setUpIntrospection({ cacheMs: 3_600_000 });
    expect(await authenticate('opaque')).toBeDefined();
    clock.ms += 600_000;
    expect(await authenticate('opaque')).toBeUndefined();
  });

  it.each<[string, object]>([
    ['is not active', { active: false }],
    ['is for another audience', { aud: ['https://other.test'] }],
    ['has no audience', { aud: undefined }],
    ['has another issuer', { iss: 'https://other.test' }],
    ['has no expiry', { exp: undefined }],
    ['is not valid yet', { nbf: NOW_SECONDS + 1 }],
    ['has no subject', { sub: undefined }],
  ])('is refused when it %s', async (_name, claims) => {
    const { authenticate, state } = await setUpIntrospection();
    state.introspectionResponse = { active: true, ...CLAIMS, ...claims };
    expect(await authenticate('opaque')).toBeUndefined();
  });

  it.each([
    ['refuses the client', (state: { status: number }) => (state.status = 401), 'responded with 401'],
    [
      'sends another kind of response',
      (state: { introspectionResponse: object }) => (state.introspectionResponse = { ok: 1 }),
      'did not say whether a token is active',
    ],
    ['sends too much', (state: { padding: number }) => (state.padding = 100_000), 'more than 65536 bytes'],
  ])('is not reported as invalid when the server %s', async (_name, change, message) => {
    const { authenticate, state } = await setUpIntrospection();
    change(state);
    await expect(authenticate('opaque')).rejects.toThrow(message);
    expect(state.requestCount).toBe(1);
  });

  it('is refused without a request when it is huge', async () => {
    const { authenticate, state } = await setUpIntrospection();
    expect(await authenticate('x'.repeat(16_385))).toBeUndefined();
    expect(state.requestCount).toBe(0);
  });
});

describe('combined authenticators', () => {
  it('choose the authenticator of a token by its format', async () => {
    const server = await startProvider();
    server.state.introspectionResponse = { active: true, ...CLAIMS, scope: 'api:write' };
    const commonOptions = { audience: AUDIENCE, now: () => NOW };
    const authenticate = createAuthenticate({
      jwt: { ...commonOptions, issuer: ISSUER, jwksUrl: `${server.url}/jwks` },
      introspection: { ...commonOptions, url: server.url, clientId: 'a', clientSecret: 'b' },
    });
    expect(await authenticate(await signToken())).toMatchObject({ scopes: ['api:read'] });
    expect(await authenticate('opaque')).toMatchObject({ scopes: ['api:write'] });
  });

  it('refuse a wrong key even with a valid token', async () => {
    const principal = { kind: 'oauth' } as never;
    const { authenticate } = combineAuthenticators(
      { authenticate: () => Promise.resolve(undefined) },
      {
        authenticate: (credentials) =>
          Promise.resolve(credentials.bearerToken === undefined ? undefined : principal),
      },
    );
    expect(await authenticate({ apiKey: 'wrong', bearerToken: 'right' }, new Headers())).toBeUndefined();
    expect(await authenticate({ apiKey: undefined, bearerToken: 'right' }, new Headers())).toBe(principal);
  });

  it('find a user by a verified email address only', async () => {
    const userByEmail = userFinderByClaim('email', {
      findUserId: () => Promise.resolve('wrong'),
      findUserIdByEmail: (email) => Promise.resolve(email === 'ada@heddle.test' ? 'ada' : undefined),
    });
    const claims = { sub: 'x', exp: 1, email: 'ada@heddle.test' };
    expect(await userByEmail({ ...claims, email_verified: true })).toBe('ada');
    expect(await userByEmail({ ...claims, email_verified: false })).toBeUndefined();
    expect(await userByEmail(claims)).toBeUndefined();
  });
});
