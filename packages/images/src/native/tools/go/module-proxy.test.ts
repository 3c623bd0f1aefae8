import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestGoProxy } from '../../../../../../test/support/go-proxy.ts';
import { createFakeBuilder, openImages, IMAGE_SPEC } from '../../../../../../test/support/images.ts';
import { GoModuleProxy } from './module-proxy.ts';

interface ProxyRequest {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/**
 * Sends requests through a Go module proxy as Go does, during a build. Returns the responses and the proxy's last
 * error.
 */
async function requestThroughProxy(proxies: readonly string[], requests: readonly ProxyRequest[]) {
  const responses: string[] = [];
  let lastError = undefined as string | undefined;
  const builder = createFakeBuilder({
    async resolve(_spec, context) {
      const proxy = await GoModuleProxy.open(context);
      try {
        for (const requestOptions of requests) responses.push(await send(proxy.path, requestOptions));
        lastError = proxy.lastError && `${proxy.lastError.code}: ${proxy.lastError.message}`;
      } finally {
        await proxy.close();
      }
      return { entries: [], data: null };
    },
  });
  const images = openImages({ javascript: builder }, { registries: { go: { proxies } } });
  await images.build(IMAGE_SPEC);
  return { responses, lastError };
}

function send(socketPath: string, { path, method = 'GET', headers = {} }: ProxyRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoingRequest = request({ socketPath, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (data: string) => (text += data));
      response.on('end', () => resolve(`${response.statusCode} ${text}`.trim()));
    });
    onTestFinished(() => void outgoingRequest.destroy());
    outgoingRequest.on('error', reject).end();
  });
}

const DEEP = { path: 'example.test/Deep', files: { 'go.mod': 'module example.test/Deep\n' } };
/** The path of the module's go.mod, in Go's notation. */
const MOD_PATH = '/example.test/%21deep/@v/v1.0.0.mod';

describe('the Go module proxy', () => {
  it("serves module files, drops Go's headers, and sends the proxy's credentials", async () => {
    const proxy = await openTestGoProxy([DEEP]);
    const headers = { authorization: 'Basic Z286Z28=', cookie: 'a=b' };
    const { responses, lastError } = await requestThroughProxy(
      [proxy.url.replace('//', '//us:secret@')],
      [{ path: `${GoModuleProxy.url}${MOD_PATH}`, headers }],
    );
    expect(responses).toEqual(['200 module example.test/Deep']);
    expect(lastError).toBeUndefined();
    expect([...proxy.authorizationHeaders]).toEqual([`Basic ${Buffer.from('us:secret').toString('base64')}`]);
  });

  it.each<[string, (origin: string) => ProxyRequest]>([
    ['another host', (origin) => ({ path: `${origin}${MOD_PATH}` })],
    ['a path that is not a module file', () => ({ path: `${GoModuleProxy.url}/secrets` })],
    ['a path with ..', () => ({ path: `${GoModuleProxy.url}/x/../../secrets` })],
    ['a path with an escaped ..', () => ({ path: `${GoModuleProxy.url}/x/%2e%2e/secrets/@v/v1.mod` })],
    ['a list of versions', () => ({ path: `${GoModuleProxy.url}/example.test/!deep/@v/list` })],
    ['a query', () => ({ path: `${GoModuleProxy.url}${MOD_PATH}?steal=1` })],
    ['a POST request', () => ({ path: `${GoModuleProxy.url}${MOD_PATH}`, method: 'POST' })],
    ['a path without a host', () => ({ path: MOD_PATH })],
  ])('refuses %s, and sends nothing to the proxy', async (_description, requestOf) => {
    const proxy = await openTestGoProxy([DEEP]);
    const { responses } = await requestThroughProxy([proxy.url], [requestOf(proxy.url)]);
    expect(responses).toEqual(['403 A build may only request module files.']);
    expect(proxy.requestPaths).toEqual([]);
  });

  it('keeps the error of a failed request', async () => {
    const proxy = await openTestGoProxy([]);
    const requests = [{ path: `${GoModuleProxy.url}${MOD_PATH}` }];
    expect((await requestThroughProxy([proxy.url], requests)).lastError).toMatch(
      /^package_not_found: .*!deep/,
    );
    proxy.intercept = (_request, response) => (response.writeHead(429).end(), true);
    const { responses, lastError } = await requestThroughProxy([proxy.url], requests);
    expect(lastError).toMatch(/^rate_limited: /);
    expect(responses[0]).toMatch(/^403 .*too many requests/);
  });
});
