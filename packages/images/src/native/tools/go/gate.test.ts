import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { goProxy } from '../../../../../../test/support/go-proxy.ts';
import { fakeBuilder, openImages, SPEC } from '../../../../../../test/support/images.ts';
import { GoGate } from './gate.ts';

interface GateRequest {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/** Sends requests through a gate as Go does, during a build. Returns the responses and the gate's fault. */
async function requestThrough(proxies: readonly string[], requests: readonly GateRequest[]) {
  const responses: string[] = [];
  let fault = undefined as string | undefined;
  const builder = fakeBuilder({
    async resolve(_spec, context) {
      const gate = await GoGate.open(context);
      try {
        for (const each of requests) responses.push(await send(gate.path, each));
        fault = gate.fault && `${gate.fault.code}: ${gate.fault.message}`;
      } finally {
        await gate.close();
      }
      return { entries: [], data: null };
    },
  });
  const images = openImages({ javascript: builder }, { registries: { go: { proxies } } });
  await images.build(SPEC);
  return { responses, fault };
}

function send(socketPath: string, { path, method = 'GET', headers = {} }: GateRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (data: string) => (text += data));
      response.on('end', () => resolve(`${response.statusCode} ${text}`.trim()));
    });
    onTestFinished(() => void outgoing.destroy());
    outgoing.on('error', reject).end();
  });
}

const DEEP = { path: 'example.test/Deep', files: { 'go.mod': 'module example.test/Deep\n' } };
/** The path of the module's go.mod, in Go's notation. */
const MOD = '/example.test/%21deep/@v/v1.0.0.mod';

describe('the Go gate', () => {
  it("serves module files, drops Go's headers, and sends the proxy's credentials", async () => {
    const proxy = await goProxy([DEEP]);
    const headers = { authorization: 'Basic Z286Z28=', cookie: 'a=b' };
    const { responses, fault } = await requestThrough(
      [proxy.url.replace('//', '//us:secret@')],
      [{ path: `${GoGate.url}${MOD}`, headers }],
    );
    expect(responses).toEqual(['200 module example.test/Deep']);
    expect(fault).toBeUndefined();
    expect([...proxy.tokens]).toEqual([`Basic ${Buffer.from('us:secret').toString('base64')}`]);
  });

  it.each<[string, (origin: string) => GateRequest]>([
    ['another host', (origin) => ({ path: `${origin}${MOD}` })],
    ['a path that is not a module file', () => ({ path: `${GoGate.url}/secrets` })],
    ['a path with ..', () => ({ path: `${GoGate.url}/x/../../secrets` })],
    ['a path with an escaped ..', () => ({ path: `${GoGate.url}/x/%2e%2e/secrets/@v/v1.mod` })],
    ['a list of versions', () => ({ path: `${GoGate.url}/example.test/!deep/@v/list` })],
    ['a query', () => ({ path: `${GoGate.url}${MOD}?steal=1` })],
    ['a POST request', () => ({ path: `${GoGate.url}${MOD}`, method: 'POST' })],
    ['a path without a host', () => ({ path: MOD })],
  ])('refuses %s, and sends nothing to the proxy', async (_what, requestOf) => {
    const proxy = await goProxy([DEEP]);
    const { responses } = await requestThrough([proxy.url], [requestOf(proxy.url)]);
    expect(responses).toEqual(['403 A build may only request module files.']);
    expect(proxy.requests).toEqual([]);
  });

  it('keeps the error of a failed request', async () => {
    const proxy = await goProxy([]);
    const requests = [{ path: `${GoGate.url}${MOD}` }];
    expect((await requestThrough([proxy.url], requests)).fault).toMatch(/^package_not_found: .*!deep/);
    proxy.intercept = (_request, response) => (response.writeHead(429).end(), true);
    const { responses, fault } = await requestThrough([proxy.url], requests);
    expect(fault).toMatch(/^rate_limited: /);
    expect(responses[0]).toMatch(/^403 .*too many requests/);
  });
});
