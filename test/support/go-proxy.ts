import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createZip, type ZipEntry } from './python/zip.ts';

/** A module of a proxy. */
export interface FixtureModule {
  readonly path: string;
  /** Default v1.0.0. */
  readonly version?: string;
  /** Contents by path in the module. Without a go.mod, one is added. */
  readonly files?: Readonly<Record<string, string>>;
  /** Additional entries of the archive, with full paths. */
  readonly entries?: readonly ZipEntry[];
}

export interface GoProxy {
  readonly url: string;
  /** The paths of the requests so far. */
  readonly requestPaths: string[];
  /** Received authorization headers. */
  readonly authorizationHeaders: Set<string>;
  /** Called before the proxy responds to a request. If it returns true, it has sent the response itself. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
}

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data);

/** Returns the `h1:` hash of files. It is implemented from Go's documentation, independently of the tested code. */
function sumOf(files: readonly (readonly [name: string, content: string])[]): string {
  const sortedFiles = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256');
  for (const [name, content] of sortedFiles) hash.update(`${sha256(content).digest('hex')}  ${name}\n`);
  return `h1:${hash.digest('base64')}`;
}

function filesOf({ path, files = {} }: FixtureModule): Record<string, string> {
  return { 'go.mod': `module ${path}\n\ngo 1.24\n`, ...files };
}

/** Returns the path, version and hash with which a recipe pins a module. */
export function pinOf(module: FixtureModule): { path: string; version: string; sum: string } {
  const { path, version = 'v1.0.0', entries = [] } = module;
  const moduleFiles = Object.entries(filesOf(module)).map(
    ([name, content]) => [`${path}@${version}/${name}`, content] as const,
  );
  const extraFiles = entries.map((entry) => [entry.path, String(entry.content ?? '')] as const);
  return { path, version, sum: sumOf([...moduleFiles, ...extraFiles]) };
}

/** Returns the lines of a go.sum for modules. */
export function formatGoSum(...modules: readonly FixtureModule[]): string {
  return modules
    .flatMap((module) => {
      const { path, version, sum } = pinOf(module);
      const goModSum = sumOf([['go.mod', filesOf(module)['go.mod'] ?? '']]);
      return [`${path} ${version} ${sum}\n`, `${path} ${version}/go.mod ${goModSum}\n`];
    })
    .join('');
}

/** Starts a module proxy over HTTP, which is closed after the test. */
export async function openTestGoProxy(modules: readonly FixtureModule[]): Promise<GoProxy> {
  const routes = new Map<string, string | Buffer>();
  for (const module of modules) {
    const { path, version = 'v1.0.0', entries = [] } = module;
    const files = filesOf(module);
    const versionPath = `/${path.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`)}/@v/${version}`;
    const moduleFiles = Object.entries(files).map(([name, content]) => ({
      path: `${path}@${version}/${name}`,
      content,
    }));
    routes.set(`${versionPath}.zip`, createZip([...moduleFiles, ...entries]));
    routes.set(`${versionPath}.mod`, files['go.mod'] ?? '');
    routes.set(`${versionPath}.info`, JSON.stringify({ Version: version, Time: '2026-01-01T00:00:00Z' }));
  }
  const state: Omit<GoProxy, 'url'> = {
    requestPaths: [],
    authorizationHeaders: new Set(),
    intercept: () => false,
  };
  const server = createServer((request, response) => {
    const { url = '', headers } = request;
    state.requestPaths.push(url);
    if (headers.authorization !== undefined) state.authorizationHeaders.add(headers.authorization);
    if (proxy.intercept(request, response)) return;
    const body = routes.get(url);
    if (body === undefined) response.writeHead(404).end('not found');
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  const proxy: GoProxy = { ...state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  return proxy;
}
