/** What a client needs to get a token for this deployment (RFC 9728). */
export interface ProtectedResource {
  /** `https://host` of this deployment. */
  origin: string;
  /** The audience of its tokens. */
  resource: string;
  /** The server that issues tokens. */
  issuer: string;
}

const METADATA_PATH = '/.well-known/oauth-protected-resource';

type Fetch = (request: Request) => Promise<Response>;

/**
 * Returns `fetch` extended with the metadata document of RFC 9728, which names the issuer of tokens. The challenge of
 * each 401 refers to the document.
 */
export function withResourceMetadata(fetch: Fetch, { origin, resource, issuer }: ProtectedResource): Fetch {
  const document = {
    resource,
    authorization_servers: [issuer],
    scopes_supported: ['api:read', 'api:write'],
    bearer_methods_supported: ['header'],
  };
  const reference = `resource_metadata="${origin}${METADATA_PATH}"`;
  return async (request) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && new URL(request.url).pathname === METADATA_PATH) {
      return Response.json(document, { headers: { 'Cache-Control': 'max-age=3600' } });
    }
    const response = await fetch(request);
    if (response.status !== 401) return response;
    const challenge = response.headers.get('www-authenticate') ?? '';
    const isBearer = /^bearer /i.test(challenge);
    const newChallenge = isBearer
      ? challenge.replace(/^bearer /i, `Bearer ${reference}, `)
      : `Bearer ${reference}, ${challenge}`;
    response.headers.set('WWW-Authenticate', newChallenge.replace(/, $/, ''));
    return response;
  };
}
