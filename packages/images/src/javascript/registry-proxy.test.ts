import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer, get, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSelfSignedCertificate } from '../../../../test/support/certificate.ts';
import { createImageFolder } from '../../../../test/support/images.ts';
import type { NpmSettings } from './npm-settings.ts';
import { RegistryProxy } from './registry-proxy.ts';

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  return (server.address() as AddressInfo).port;
}

/** Sends a request through a new registry proxy with these settings. */
async function getThroughProxy(
  settings: NpmSettings,
  url: string,
): Promise<{ status: number; text: string }> {
  const proxy = await RegistryProxy.open(settings);
  onTestFinished(() => proxy.close());
  return new Promise((resolve, reject) => {
    const request = get({ socketPath: proxy.path, path: url }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (data: string) => (text += data));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on('error', reject);
  });
}

const createTextListener =
  (text: string): RequestListener =>
  (_request, response) =>
    void response.end(text);

describe('the registry proxy', () => {
  const { cert, key } = createSelfSignedCertificate();
  const listenTls = (listener: RequestListener): Promise<number> =>
    listen(createHttpsServer({ cert, key }, listener) as unknown as Server);

  it("trusts only the certificate authorities in npm's settings", async () => {
    const port = await listenTls(createTextListener('hello'));
    const registry = `https://127.0.0.1:${port}/`;
    const cafile = join(createImageFolder(), 'ca.pem');
    writeFileSync(cafile, cert);
    expect(await getThroughProxy({ registry, cafile }, registry)).toEqual({ status: 200, text: 'hello' });
    expect(await getThroughProxy({ registry, ca: cert.replaceAll('\n', '\\n') }, registry)).toMatchObject({
      status: 200,
    });
    expect(await getThroughProxy({ registry, 'node-extra-ca-certs': cafile }, registry)).toMatchObject({
      status: 200,
    });
    expect(await getThroughProxy({ registry, 'strict-ssl': 'false' }, registry)).toMatchObject({
      status: 200,
    });
    expect(await getThroughProxy({ registry }, registry)).toMatchObject({
      status: 502,
      text: expect.stringMatching(/self-signed/) as string,
    });
  });

  it("sends npm's client certificate to its registry", async () => {
    const server = createHttpsServer(
      { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true },
      createTextListener('known'),
    ) as unknown as Server;
    const registry = `https://127.0.0.1:${await listen(server)}/`;
    const [certfile, keyfile] = ['cert.pem', 'key.pem'].map((name) => join(createImageFolder(), name)) as [
      string,
      string,
    ];
    writeFileSync(certfile, cert);
    writeFileSync(keyfile, key);
    const prefix = registry.replace('https:', '');
    const clientSettings = { [`${prefix}:certfile`]: certfile, [`${prefix}:keyfile`]: keyfile };
    expect(await getThroughProxy({ registry, cafile: certfile, ...clientSettings }, registry)).toEqual({
      status: 200,
      text: 'known',
    });
    expect(await getThroughProxy({ registry, cafile: certfile }, registry)).toMatchObject({ status: 502 });
  });

  it.each(['http', 'https'])("uses npm's proxy for %s", async (scheme) => {
    const port = await listenTls(createTextListener('far'));
    const targets: string[] = [];
    const proxy = createHttpServer((request, response) => {
      targets.push(request.url ?? '');
      response.end('far');
    });
    proxy.on('connect', (request, socket) => {
      targets.push(request.url ?? '');
      const upstream = connect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const stream of [upstream, socket])
        stream.on('error', () => (upstream.destroy(), socket.destroy()));
    });
    // Only the proxy resolves the name.
    const registry = `${scheme}://registry.example.invalid/`;
    const settings = { registry, proxy: `http://127.0.0.1:${await listen(proxy)}/`, 'strict-ssl': 'false' };
    expect(await getThroughProxy(settings, `${registry}one`)).toEqual({ status: 200, text: 'far' });
    expect(targets).toEqual([scheme === 'http' ? `${registry}one` : 'registry.example.invalid:443']);
  });

  it('follows redirects only to public addresses', async () => {
    const internalPort = await listen(createHttpServer(createTextListener('internal')));
    const port = await listen(
      createHttpServer((_request, response) =>
        response.writeHead(302, { location: `http://127.0.0.1:${internalPort}/` }).end(),
      ),
    );
    const registry = `http://127.0.0.1:${port}/`;
    expect(await getThroughProxy({ registry }, registry)).toMatchObject({
      status: 403,
      text: expect.stringMatching(/private address/) as string,
    });
  });
});
