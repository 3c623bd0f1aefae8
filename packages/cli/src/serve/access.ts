import type { Api, ApiOptions, Authenticator, Limits } from '@heddle/api';
import type { ServiceStore } from '@heddle/service';
import { readEnv } from '../env.ts';
import { clientAddressOf, openLimits } from './limits.ts';
import type { LimitOptions } from './limits.ts';
import { createTokenAuth } from './oauth.ts';
import type { TokenOptions } from './oauth.ts';

/** Options of `heddle serve` about who may call it, and how often. */
export interface AccessOptions extends LimitOptions, TokenOptions {
  /** Number of proxies in front of the server. */
  proxies: number;
}

/** The access control of the server: options of `createApi`, the limits, and a wrapper for the API's `fetch`. */
export interface ServerAccess {
  settings: Required<Pick<ApiOptions, 'authenticator' | 'clientAddress'>>;
  limits: Limits;
  /** Returns a `fetch` that also serves the metadata about where callers get tokens. */
  wrap(fetch: Api['fetch']): Api['fetch'];
  close(): Promise<void>;
}

interface AccessDependencies {
  store: ServiceStore;
  /** The operations that a limits file can limit separately. */
  operationIds: readonly string[];
  /** `https://host` of this server. */
  origin: string;
  /** Returns the address of the other end of the connection. */
  peerAddressOf: (request: Request) => string | undefined;
  onError: (error: unknown) => void;
  /** Accepts the sessions of browsers. */
  sessionAuthenticator?: Authenticator | undefined;
}

/** Opens the limits of the server, and the authentication by API keys, access tokens and browser sessions. */
export async function openAccess(
  options: AccessOptions,
  { store, operationIds, origin, peerAddressOf, onError, sessionAuthenticator }: AccessDependencies,
): Promise<ServerAccess> {
  const { keyAuthenticator } = await import('@heddle/service');
  const { combineAuthenticators, withResourceMetadata } = await import('@heddle/service/access');
  const apiKeyAuthenticator = keyAuthenticator(store.keys);
  const tokenAuth = await createTokenAuth(options, readEnv(), store.workspaces);
  const otherAuthenticators = [
    ...(tokenAuth ? [tokenAuth.authenticator] : []),
    ...(sessionAuthenticator ? [sessionAuthenticator] : []),
  ];
  const { close, limits } = await openLimits(options, { operationIds, onError });
  return {
    limits,
    settings: {
      authenticator: combineAuthenticators(apiKeyAuthenticator, ...otherAuthenticators),
      clientAddress: (request) => clientAddressOf(request.headers, peerAddressOf(request), options.proxies),
    },
    wrap: (fetch) => (tokenAuth ? withResourceMetadata(fetch, { origin, ...tokenAuth.resource }) : fetch),
    close,
  };
}
