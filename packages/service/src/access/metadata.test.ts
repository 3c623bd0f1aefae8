import { expect, it } from 'vitest';
import { withResourceMetadata } from './metadata.ts';

const RESOURCE = {
  origin: 'https://heddle.test',
  resource: 'https://heddle.test/api',
  issuer: 'https://issuer.test',
};
const METADATA_URL = 'https://heddle.test/.well-known/oauth-protected-resource';

const createFetch = (status: number, challenge?: string) =>
  withResourceMetadata(
    () =>
      Promise.resolve(
        new Response(null, {
          status,
          headers: challenge === undefined ? {} : { 'WWW-Authenticate': challenge },
        }),
      ),
    RESOURCE,
  );

it('the API serves a metadata document that names the issuer of tokens', async () => {
  const response = await createFetch(404)(new Request(METADATA_URL));
  expect([response.status, await response.json()]).toEqual([
    200,
    {
      resource: 'https://heddle.test/api',
      authorization_servers: ['https://issuer.test'],
      scopes_supported: ['api:read', 'api:write'],
      bearer_methods_supported: ['header'],
    },
  ]);
  expect((await createFetch(404)(new Request(METADATA_URL, { method: 'POST' }))).status).toBe(404);
});

it.each([
  [401, 'ApiKey realm="x"', `Bearer resource_metadata="${METADATA_URL}", ApiKey realm="x"`],
  [
    401,
    'Bearer error="invalid_token", ApiKey',
    `Bearer resource_metadata="${METADATA_URL}", error="invalid_token", ApiKey`,
  ],
  [401, undefined, `Bearer resource_metadata="${METADATA_URL}"`],
  [403, 'Bearer error="insufficient_scope"', 'Bearer error="insufficient_scope"'],
  [200, undefined, null],
])(
  'challenges name the metadata document only in 401 responses: %i with %s',
  async (status, challenge, expected) => {
    const response = await createFetch(status, challenge)(new Request('https://heddle.test/api/v2/meta'));
    expect(response.headers.get('www-authenticate')).toBe(expected);
  },
);
