import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { createFakeBuilder, openImages } from '../../../test/support/images.ts';
import type { BuildContext, Registries } from './builder.ts';
import type { ImageRecord } from './record.ts';

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

async function startServer(respond: RequestHandler): Promise<string> {
  const httpServer = createServer(respond);
  await new Promise<void>((resolve) => httpServer.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void httpServer.close());
  return `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`;
}

/** Runs `act` inside a build. Returns its result and the record of the build. */
async function buildWith<T>(
  registries: Registries,
  act: (context: BuildContext) => Promise<T>,
): Promise<{ result: T | undefined; record: ImageRecord }> {
  let result: T | undefined;
  const javascript = createFakeBuilder({
    async resolve(_spec, context) {
      result = await act(context);
      return { entries: [], data: null };
    },
  });
  const images = openImages({ javascript }, { registries });
  const record = await images.build({ language: 'javascript', dependencies: ['alpha'] });
  return { result, record };
}

it('a file is fetched once and found by its digest afterwards', async () => {
  let requestCount = 0;
  const index = await startServer((_request, response) => (requestCount++, response.end('wheel')));
  const { result } = await buildWith({ python: { index } }, async (context) => {
    const fetchWheel = () => context.fetchVerified(`${index}/a.whl`, digestOf('wheel'), { maxBytes: 100 });
    return [await fetchWheel(), await fetchWheel()];
  });
  expect(result![0]).toEqual(result![1]);
  expect(readFileSync(result![0]!.path, 'utf8')).toBe('wheel');
  expect([requestCount, result![0]!.size]).toEqual([1, 5]);
});

it.each<[string, RequestHandler, object]>([
  ['another file', (_request, response) => response.end('other'), { errorCode: 'integrity_error' }],
  [
    'a file that is too large',
    (_request, response) => response.end('x'.repeat(200)),
    { errorCode: 'image_too_large' },
  ],
  ['404', (_request, response) => response.writeHead(404).end(), { errorCode: 'package_not_found' }],
  ['429', (_request, response) => response.writeHead(429).end(), { errorCode: 'rate_limited' }],
  [
    'a server error',
    (_request, response) => response.writeHead(502).end(),
    { errorCode: 'registry_unavailable' },
  ],
  [
    'a redirect loop',
    (request, response) => response.writeHead(302, { location: request.url ?? '' }).end(),
    { errorCode: 'registry_unavailable' },
  ],
])('a registry that responds with %s fails the build', async (_description, respond, expected) => {
  const index = await startServer(respond);
  const { record } = await buildWith({ python: { index } }, (context) =>
    context.fetchVerified(`${index}/a.whl`, digestOf('wheel'), { maxBytes: 100 }),
  );
  expect(record).toMatchObject(expected);
});

it('a registry that the operator named may have a private address; the target of its redirect may not', async () => {
  const index = await startServer((_request, response) =>
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
  );
  const { record } = await buildWith({ python: { index } }, (context) =>
    context.fetchPage(index, { maxBytes: 100 }),
  );
  expect(record).toMatchObject({ errorCode: 'registry_unavailable' });
  const otherBuild = await buildWith({}, (context) => context.fetchPage(index, { maxBytes: 100 }));
  expect(otherBuild.record).toMatchObject({ errorCode: 'registry_unavailable' });
});

it('credentials of a URL are sent to its origin only', async () => {
  const authorizations: (string | undefined)[] = [];
  const filesUrl = await startServer(
    (request, response) => (authorizations.push(request.headers.authorization), response.end('ok')),
  );
  const index = await startServer((request, response) => {
    authorizations.push(request.headers.authorization);
    response.writeHead(302, { location: filesUrl }).end();
  });
  const indexWithUser = index.replace('http://', 'http://me:p%40ss@');
  const { result } = await buildWith(
    { python: { index: indexWithUser, extraIndexes: [filesUrl] } },
    (context) => context.fetchPage(indexWithUser, { maxBytes: 100 }),
  );
  expect(Buffer.from(result!.body).toString()).toBe('ok');
  expect(authorizations).toEqual([`Basic ${Buffer.from('me:p@ss').toString('base64')}`, undefined]);
});
