import type { EgressPolicy } from '@heddle/sandbox/egress';
import type * as openidClient from 'openid-client';
import type { Configuration, CustomFetch, ServerMetadata, TokenEndpointResponse } from 'openid-client';
import * as z from 'zod';
import { parseProviderUrl } from '../access/bounded-fetch.ts';
import { material as materialSchema, providerId } from './schemas.ts';
import type { OAuthMaterial } from './schemas.ts';

type OAuthLibrary = typeof openidClient;

const httpsUrl = z.string().max(2048).superRefine(checkUrl);
const clientIdOrSecret = z.string().min(1).max(8192);

/** Parameters that only this module sets. */
const RESERVED_PARAMETERS = new Set([
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state'],
  ...['nonce', 'code_challenge', 'code_challenge_method', 'request', 'request_uri'],
]);

const oauthClient = z
  .strictObject({
    /** The server, which publishes its endpoints. It also identifies the connected account. */
    issuer: httpsUrl.optional(),
    /**
     * The endpoints of a server that does not publish them. With `issuer`, `tokenUrl` replaces the published token
     * endpoint.
     */
    authorizationUrl: httpsUrl.optional(),
    tokenUrl: httpsUrl.optional(),
    clientId: clientIdOrSecret,
    clientSecret: clientIdOrSecret.optional(),
    /** How the secret is sent: in the body (default) or in a header. */
    authentication: z.enum(['post', 'basic']).default('post'),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/))
      .max(100)
      .default([]),
    /** Further parameters of the authorization request, such as `access_type`. */
    parameters: z
      .record(z.string().min(1).max(255), z.string().max(2048))
      .superRefine(refuseReservedParameters)
      .default({}),
    /** The port of the redirect URI on this machine, if the server accepts only certain ports. */
    redirectPort: z.int().min(1).max(65_535).optional(),
  })
  .refine(
    ({ issuer, authorizationUrl, tokenUrl }) =>
      issuer === undefined
        ? authorizationUrl !== undefined && tokenUrl !== undefined
        : authorizationUrl === undefined,
    'set either "issuer" (and "tokenUrl" to replace the published one), or both "authorizationUrl" and "tokenUrl"',
  );

const oauthClients = z.record(providerId, oauthClient);

/** The configuration of one of the operator's OAuth clients. */
export type OAuthClientConfig = z.output<typeof oauthClient>;

/**
 * Returns the OAuth clients in a JSON string, by provider. Throws a RangeError that lists all problems, without
 * values.
 */
export function readOAuthClients(json: string): { [provider: string]: OAuthClientConfig } {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // The message of the parser quotes a part of the file, which contains secrets.
    throw new RangeError('The file of OAuth clients is not JSON.');
  }
  const result = oauthClients.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || '(all)'}: ${message}`);
  throw new RangeError(`The file of OAuth clients is invalid: ${problems.join('; ')}.`);
}

/** Time limit of a request. A refresh sends up to two requests, so it ends before its lease expires. */
const TOKEN_TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 65_536;
const MAX_ACCOUNT_CHARS = 255;

/** Thrown when a server issues no token. The message contains no token, no code and no text of the server. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  /**
   * `invalid_grant`: the server no longer accepts the refresh token, or the code. `no_client`: the operator has
   * configured no client for the provider. `failed`: any other failure.
   */
  readonly code: 'invalid_grant' | 'no_client' | 'failed';

  constructor(code: OAuthError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Returns whether the server no longer accepts the refresh token or the code. */
export function isInvalidGrant(error: unknown): boolean {
  return error instanceof OAuthError && error.code === 'invalid_grant';
}

/** An authorization that a person has to grant in a browser. */
export interface Authorization {
  /** The URL for the browser. */
  url: string;
  state: string;
  codeVerifier: string;
  redirectUri: string;
}

/** Options of OAuth clients. */
export interface OAuthClientsOptions {
  clients: { readonly [provider: string]: OAuthClientConfig };
  /** The rules for requests to the servers. The servers that `clients` names are allowed in addition. */
  egress?: EgressPolicy;
  /** Time limit of a request. Default 10 seconds. */
  timeoutMs?: number;
  now?: () => number;
}

/** Sends requests to OAuth servers as the operator's clients. */
export class OAuthClients {
  readonly #options: OAuthClientsOptions;
  readonly #configurations = new Map<string, Promise<Configuration>>();
  #fetch: Promise<CustomFetch> | undefined;

  constructor(options: OAuthClientsOptions) {
    this.#options = options;
  }

  /** The providers that have a client. */
  get providers(): string[] {
    return Object.keys(this.#options.clients);
  }

  /** Returns the client of a provider. Throws an OAuthError `no_client` if the operator has configured none. */
  clientConfigOf(provider: string): OAuthClientConfig {
    const { clients } = this.#options;
    const client = Object.hasOwn(clients, provider) ? clients[provider] : undefined;
    if (client) return client;
    throw new OAuthError('no_client', `There is no OAuth client for ${provider} in the configuration.`);
  }

  /** Exchanges a refresh token for new tokens. Throws an OAuthError. */
  async refresh(provider: string, refreshToken: string): Promise<OAuthMaterial> {
    const response = await this.#call(provider, async (configuration, { refreshTokenGrant }) =>
      refreshTokenGrant(configuration, refreshToken),
    );
    return this.#materialOf(provider, response, refreshToken);
  }

  /** Begins an authorization with PKCE, which ends with a redirect to `redirectUri`. Throws an OAuthError. */
  async authorize(provider: string, redirectUri: string): Promise<Authorization> {
    const { scopes, parameters } = this.clientConfigOf(provider);
    return this.#call(provider, async (configuration, oauth) => {
      const codeVerifier = oauth.randomPKCECodeVerifier();
      const state = oauth.randomState();
      const url = oauth.buildAuthorizationUrl(configuration, {
        ...parameters,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
        redirect_uri: redirectUri,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, state, codeVerifier, redirectUri };
    });
  }

  /**
   * Completes an authorization with the URL to which the browser was redirected. Checks the state and sends the code
   * verifier. Throws an OAuthError.
   */
  async exchange(
    provider: string,
    { state, codeVerifier }: Authorization,
    redirectUrl: URL,
  ): Promise<{ material: OAuthMaterial; account: string | undefined }> {
    const response = await this.#call(provider, async (configuration, { authorizationCodeGrant }) =>
      authorizationCodeGrant(configuration, redirectUrl, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
      }),
    );
    return { material: this.#materialOf(provider, response), account: accountOf(response.claims()) };
  }

  async #call<T>(
    provider: string,
    use: (configuration: Configuration, oauth: OAuthLibrary) => Promise<T>,
  ): Promise<T> {
    const client = this.clientConfigOf(provider);
    const oauth = await import('openid-client');
    try {
      return await use(await this.#configurationOf(provider, client, oauth), oauth);
    } catch (error) {
      throw toOAuthError(provider, error);
    }
  }

  /** Returns the configuration of a client, which is cached. After a failure, the next call tries again. */
  #configurationOf(provider: string, client: OAuthClientConfig, oauth: OAuthLibrary): Promise<Configuration> {
    let configuration = this.#configurations.get(provider);
    if (!configuration) {
      configuration = this.#createConfiguration(client, oauth).catch((error: unknown) => {
        this.#configurations.delete(provider);
        throw error;
      });
      this.#configurations.set(provider, configuration);
    }
    return configuration;
  }

  async #createConfiguration(client: OAuthClientConfig, oauth: OAuthLibrary): Promise<Configuration> {
    const { issuer, authorizationUrl = '', tokenUrl = '', clientId } = client;
    const fetch = await (this.#fetch ??= this.#createEgressFetch());
    const timeout = this.#timeoutMs / 1000;
    const authentication = authenticationOf(client, oauth);
    let metadata: ServerMetadata = {
      issuer: new URL(issuer ?? tokenUrl).origin,
      authorization_endpoint: authorizationUrl,
      token_endpoint: tokenUrl,
    };
    if (issuer !== undefined) {
      const server = new URL(issuer);
      const discoveredConfiguration = await oauth.discovery(server, clientId, {}, authentication, {
        ...{ timeout, [oauth.customFetch]: fetch },
        ...(server.protocol === 'http:' && { execute: [oauth.allowInsecureRequests] }),
      });
      if (tokenUrl === '') return discoveredConfiguration;
      const publishedMetadata: ServerMetadata = discoveredConfiguration.serverMetadata();
      metadata = { ...publishedMetadata, token_endpoint: tokenUrl };
    }
    const configuration = new oauth.Configuration(metadata, clientId, {}, authentication);
    configuration.timeout = timeout;
    configuration[oauth.customFetch] = fetch;
    if (tokenUrl.startsWith('http:')) oauth.allowInsecureRequests(configuration);
    return configuration;
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? TOKEN_TIMEOUT_MS;
  }

  /**
   * Returns a `fetch` that obeys the egress policy. It follows no redirect, which could send a secret to another host.
   */
  async #createEgressFetch(): Promise<CustomFetch> {
    const { clients, egress = {} } = this.#options;
    const { createEgress } = await import('@heddle/sandbox/egress');
    const egressClient = createEgress({
      ...egress,
      timeoutMs: this.#timeoutMs,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      exceptions: [...(egress.exceptions ?? []), ...Object.values(clients).flatMap(hostsOf)],
    });
    return async (url, { method, headers, body, signal }) => {
      const request = new Request(url, {
        method,
        headers,
        body: body ?? null,
        duplex: 'half',
      } as RequestInit);
      const response = await egressClient.fetch({
        ...{ url: request.url, method, headers: [...request.headers], redirect: 'error' },
        body: request.body === null ? null : new Uint8Array(await request.arrayBuffer()),
        ...(signal && { signal }),
      });
      const { status, statusText } = response;
      const content = status === 204 || status === 304 ? null : new Uint8Array(response.body);
      return new Response(content, { status, statusText, headers: response.headers });
    };
  }

  #materialOf(provider: string, response: TokenEndpointResponse, refreshToken?: string): OAuthMaterial {
    const { expires_in: expiresInSeconds } = response;
    const result = materialSchema.safeParse({
      type: 'oauth',
      accessToken: response.access_token,
      // A server that sends no new refresh token still accepts the current one.
      refreshToken: response.refresh_token ?? refreshToken,
      ...(expiresInSeconds !== undefined && {
        expiresMs: (this.#options.now ?? Date.now)() + Math.floor(Math.max(0, expiresInSeconds) * 1000),
      }),
    });
    if (result.success && result.data.type === 'oauth') return result.data;
    throw new OAuthError('failed', `${provider} sent a token that cannot be stored.`);
  }
}

function authenticationOf({ clientSecret, authentication }: OAuthClientConfig, oauth: OAuthLibrary) {
  if (clientSecret === undefined) return oauth.None();
  return authentication === 'basic'
    ? oauth.ClientSecretBasic(clientSecret)
    : oauth.ClientSecretPost(clientSecret);
}

/**
 * Returns the servers that the operator has named, as exceptions of the egress policy. An endpoint that an issuer
 * publishes is no exception: otherwise the issuer could direct requests to internal addresses.
 */
function hostsOf({ issuer, tokenUrl }: OAuthClientConfig): string[] {
  return [issuer, tokenUrl].flatMap((url) => {
    if (url === undefined) return [];
    const { host, protocol, port } = new URL(url);
    return [port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host];
  });
}

function refuseReservedParameters(parameters: object, context: z.RefinementCtx): void {
  for (const name of Object.keys(parameters))
    if (RESERVED_PARAMETERS.has(name))
      context.addIssue({ code: 'custom', path: [name], message: 'Heddle sets this parameter itself' });
}

function checkUrl(url: string, context: z.RefinementCtx): void {
  try {
    parseProviderUrl(url, 'The URL');
  } catch {
    context.addIssue({ code: 'custom', message: 'must be an https URL without a password' });
  }
}

function accountOf(claims: { sub: string; email?: unknown } | undefined): string | undefined {
  if (!claims) return undefined;
  const { email, sub } = claims;
  const account = typeof email === 'string' && email !== '' ? email : sub;
  // The server chooses this string, and databases reject some characters.
  return account
    .replaceAll(/\p{Cc}/gu, '')
    .slice(0, MAX_ACCOUNT_CHARS)
    .toWellFormed();
}

/** Codes of OAuth errors: RFC 6749, 5.2. Anything else is text of the server, which may contain a token. */
const OAUTH_ERROR_CODE = /^[a-z_]{1,64}$/;

/** Codes of errors of Node.js, of the egress library and of openid-client. */
const LIBRARY_ERROR_CODE = /^[A-Z][A-Z0-9_]{1,63}$/;

interface ErrorFields {
  error?: unknown;
  status?: unknown;
  code?: unknown;
  cause?: unknown;
}

/** Returns an error that contains only codes and the status, which cannot be secrets. */
function toOAuthError(provider: string, error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  const failure = (error ?? {}) as ErrorFields;
  const oauthCode = matchingString(failure.error, OAUTH_ERROR_CODE);
  if (oauthCode === 'invalid_grant')
    return new OAuthError('invalid_grant', `${provider} no longer accepts the authorization (${oauthCode}).`);
  const { code: causeCode } = (failure.cause ?? {}) as ErrorFields;
  const code =
    oauthCode ??
    matchingString(failure.code, LIBRARY_ERROR_CODE) ??
    matchingString(causeCode, LIBRARY_ERROR_CODE);
  const details = [
    code ?? 'no response',
    ...(typeof failure.status === 'number' ? [`status ${failure.status}`] : []),
  ];
  return new OAuthError('failed', `${provider} issued no token (${details.join(', ')}).`);
}

function matchingString(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === 'string' && pattern.test(value) ? value : undefined;
}
