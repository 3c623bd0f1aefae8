import type { Api, Authenticator } from '@heddle/api';
import type { ServiceStore } from '@heddle/service';
import { LOOPBACK_HOST } from './limits.ts';

type Fetch = Api['fetch'];

/** The pages of the Studio, and the sessions of its browsers. */
export interface ServedStudio {
  /** Absent without the Studio, like `browserUrl`. */
  sessionAuthenticator?: Authenticator;
  /** Returns `fetch` with the pages of the Studio and the sign-in of browsers. */
  wrap(fetch: Fetch): Fetch;
  /** The URL to open in a browser. On a loopback address it has a one-time token that signs the browser in. */
  browserUrl?: string;
}

interface StudioDependencies {
  store: ServiceStore;
  /** `http://host:port` of the listening server, from this machine. */
  listeningUrl: string;
  /** Base URL in responses. */
  origin: string;
}

/** Opens the Studio of a server that listens on `host`, unless the options switch it off. */
export async function openStudio(
  { host, studio }: { host: string; studio: boolean },
  { store, listeningUrl, origin }: StudioDependencies,
): Promise<ServedStudio> {
  if (!studio) return { wrap: (fetch) => fetch };
  const { studioPages } = await import('@heddle/studio');
  const { OneTimeToken, sessionAuthenticator, withSessions } = await import('@heddle/service/access');
  const { port } = new URL(listeningUrl);
  const isLoopback = LOOPBACK_HOST.test(host);
  const originUrl = new URL(origin);
  const user = isLoopback ? await store.workspaces.findFirstUser() : undefined;
  const token = user && new OneTimeToken(user.id);
  const sessionOptions = {
    // A server that other machines can reach accepts any host name, unless it has an origin.
    hosts: isLoopback || origin !== listeningUrl ? hostsOf(port, originUrl.host) : undefined,
    cookieName: `heddle_session_${port}`,
    secure: originUrl.protocol === 'https:',
  };
  const servePage = studioPages();
  return {
    sessionAuthenticator: sessionAuthenticator(store.sessions, sessionOptions),
    wrap(fetch) {
      const fetchWithSession = withSessions(fetch, {
        ...sessionOptions,
        ...{ sessions: store.sessions, keys: store.keys },
        ...(token && { token }),
      });
      return async (request) => {
        const page = await servePage(request);
        if (!page) return fetchWithSession(request);
        const isKnownHost =
          !sessionOptions.hosts || sessionOptions.hosts.has(request.headers.get('host') ?? '');
        return isKnownHost ? page : unknownHostResponse();
      };
    },
    browserUrl: token ? `${listeningUrl}/#token=${token.text}` : `${origin}/`,
  };
}

/** Returns the host names under which browsers of this machine reach the server, and the host name of its origin. */
function hostsOf(port: string, originHost: string): ReadonlySet<string> {
  return new Set([`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, originHost]);
}

/** Returns the response to a request for an unknown host name, as in a DNS rebinding attack. */
function unknownHostResponse(): Response {
  const text =
    'This server does not serve pages under this host name. Set --origin to the base URL that browsers use.\n';
  return new Response(text, {
    status: 421,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
  });
}
