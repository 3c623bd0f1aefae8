import { expect, it } from 'vitest';
import { serveFetch } from '../../../test/support/mcp-server.ts';
import { ApiClient } from './api-client.ts';
import { readEnv } from './env.ts';

/** Returns a client of a server, and the URLs of its requests. */
async function createClient(respond: (url: URL) => Response) {
  const requestedUrls: URL[] = [];
  const { url } = await serveFetch((request) => {
    const requestedUrl = new URL(request.url);
    requestedUrls.push(requestedUrl);
    return respond(requestedUrl);
  });
  const client = new ApiClient({ url: new URL(url).origin }, readEnv({ HEDDLE_API_KEY: 'key' }));
  return { client, requestedUrls };
}

it('reads the last object of a response that does not end with a newline', async () => {
  const { client } = await createClient(() => new Response('{"n":1}\n{"n":2}'));
  const objects = [];
  for await (const object of client.streamObjects('/stream', {})) objects.push(object);
  expect(objects).toEqual([{ n: 1 }, { n: 2 }]);
});

it('requests no further page once it has as many items as the limit', async () => {
  const page = Array.from({ length: 100 }, (_, index) => ({ index }));
  const { client, requestedUrls } = await createClient(() =>
    Response.json({ data: page, nextCursor: 'more' }),
  );
  expect(await client.fetchFirstItems('/items', 100)).toHaveLength(100);
  expect(requestedUrls).toHaveLength(1);
});
