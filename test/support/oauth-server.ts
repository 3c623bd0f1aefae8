import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request to the token endpoint. */
export interface TokenRequest {
  parameters: { readonly [name: string]: string };
  headers: IncomingMessage['headers'];
}

/** A fault of the token endpoint: delays, or an error instead of tokens. */
export interface TokenFault {
  /** Awaited before the request is read. */
  beforeRead?: () => Promise<void>;
  /** Awaited before the response is sent. The new tokens are already in effect. */
  beforeResponse?: () => Promise<void>;
  /** Status of a response that has `body` and `headers` instead of tokens. */
  status?: number;
  body?: object | string;
  headers?: { [name: string]: string };
}

export interface OAuthServer {
  origin: string;
  /** Requests to the token endpoint. */
  requests: TokenRequest[];
  /** Faults of the next requests to the token endpoint, in order. */
  faults: TokenFault[];
  /** Returns a new refresh token that the server accepts. */
  issueRefreshToken(): string;
  /** Revokes all refresh tokens. */
  revokeRefreshTokens(): void;
  close(): Promise<void>;
}

export interface OAuthServerOptions {
  /** Lifetime of access tokens in seconds; absent: the responses do not contain one. */
  expiresIn?: number;
  /** True if each refresh returns a new refresh token and invalidates the used token. */
  rotatesRefreshTokens?: boolean;
  /** The URL of the token endpoint in the metadata. Default: the endpoint of this server. */
  tokenEndpoint?: string;
}

/** Starts an OAuth server with authorization codes, PKCE and refresh tokens. It grants every request immediately. */
export async function startOAuthServer(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  const state = { codes: new Map<string, URLSearchParams>(), refreshTokens: new Set<string>() };
  const requests: TokenRequest[] = [];
  const faults: TokenFault[] = [];
  const server = createServer((request, response) => {
    const origin = `http://${request.headers.host}`;
    const context = { origin, state, options, requests, faults };
    respond(request, response, context).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    faults,
    issueRefreshToken: () => issueRefreshToken(state),
    revokeRefreshTokens: () => state.refreshTokens.clear(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface State {
  codes: Map<string, URLSearchParams>;
  refreshTokens: Set<string>;
}

interface ServerContext {
  origin: string;
  state: State;
  options: OAuthServerOptions;
  requests: TokenRequest[];
  faults: TokenFault[];
}

function issueRefreshToken({ refreshTokens }: State): string {
  const token = `rt-${randomUUID()}`;
  refreshTokens.add(token);
  return token;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServerContext,
): Promise<void> {
  const url = new URL(request.url ?? '/', context.origin);
  if (url.pathname === '/.well-known/openid-configuration')
    return sendJson(response, 200, createMetadata(context));
  if (url.pathname === '/authorize') return authorize(url, response, context.state);
  const parameters = Object.fromEntries(new URLSearchParams(await text(request)));
  context.requests.push({ parameters, headers: request.headers });
  const fault = context.faults.shift();
  await fault?.beforeRead?.();
  if (fault?.status !== undefined) return sendJson(response, fault.status, fault.body ?? {}, fault.headers);
  const tokenResponse = createTokenResponse(parameters, context);
  await fault?.beforeResponse?.();
  return sendJson(response, 'error' in tokenResponse ? 400 : 200, tokenResponse);
}

function createMetadata({ origin, options }: ServerContext): object {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: options.tokenEndpoint ?? `${origin}/token`,
    jwks_uri: `${origin}/jwks`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  };
}

function authorize({ searchParams }: URL, response: ServerResponse, { codes }: State): void {
  const code = randomUUID();
  codes.set(code, searchParams);
  const redirectUrl = new URL(searchParams.get('redirect_uri') ?? '');
  redirectUrl.searchParams.set('code', code);
  redirectUrl.searchParams.set('state', searchParams.get('state') ?? '');
  response.writeHead(302, { Location: redirectUrl.href }).end();
}

function createTokenResponse(parameters: TokenRequest['parameters'], context: ServerContext): object {
  if (parameters['grant_type'] === 'authorization_code') return exchangeCode(parameters, context);
  const { refresh_token: refreshToken = '' } = parameters;
  const { state, options } = context;
  if (!state.refreshTokens.has(refreshToken)) return invalidGrant(refreshToken);
  if (!options.rotatesRefreshTokens) return createTokens(options);
  state.refreshTokens.delete(refreshToken);
  return { ...createTokens(options), refresh_token: issueRefreshToken(state) };
}

function exchangeCode(
  { code = '', code_verifier: verifier = '', redirect_uri: redirectUri = '' }: TokenRequest['parameters'],
  { origin, state, options }: ServerContext,
): object {
  const authorization = state.codes.get(code);
  state.codes.delete(code);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  if (authorization?.get('code_challenge') !== challenge || authorization.get('redirect_uri') !== redirectUri)
    return invalidGrant(code);
  const isOpenId = authorization.get('scope')?.split(' ').includes('openid');
  return {
    ...createTokens(options),
    refresh_token: issueRefreshToken(state),
    ...(isOpenId && { id_token: createIdToken(origin, authorization.get('client_id') ?? '') }),
  };
}

/** Returns an error whose description contains the sent value, as some servers do. */
function invalidGrant(value: string): object {
  return { error: 'invalid_grant', error_description: `${value} is unknown.` };
}

function createTokens({ expiresIn }: OAuthServerOptions): object {
  const token = { access_token: `at-${randomUUID()}`, token_type: 'Bearer' };
  return expiresIn === undefined ? token : { ...token, expires_in: expiresIn };
}

/** Returns an id token with a dummy signature. Clients trust it, because it comes directly from the token endpoint. */
function createIdToken(issuer: string, audience: string): string {
  const seconds = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, aud: audience, sub: 'person-1', email: 'ada@example.com' };
  const segments = [{ alg: 'RS256' }, { ...claims, iat: seconds, exp: seconds + 600 }, 'signature'];
  return segments.map((segment) => Buffer.from(JSON.stringify(segment)).toString('base64url')).join('.');
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object | string,
  headers: { [name: string]: string } = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
