import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createTarball, type TarEntry } from './tarball.ts';

/** A version of a package in the registry. */
export interface FixturePackage {
  readonly name: string;
  /** Default 1.0.0. */
  readonly version?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Fields of its package.json in addition to name and version. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** Additional entries of the archive, with full paths. */
  readonly entries?: readonly TarEntry[];
  /** True if the served file does not have the published integrity. */
  readonly hasWrongHash?: boolean;
}

export interface NpmRegistry {
  readonly url: string;
  close(): void;
  /** The paths of the requests so far, without the slash at the start. */
  readonly requestPaths: string[];
  /** Received authorization headers. */
  readonly authorizationHeaders: Set<string>;
  /** Called before the registry responds to a request. If it returns true, it has sent the response itself. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
}

interface ServedProject {
  readonly packument: Record<string, unknown>;
  readonly files: Map<string, Buffer>;
}

/** Returns the projects of the registry, by name. `origin` is the URL of the registry. */
function projectsOf(packages: readonly FixturePackage[], origin: string): Map<string, ServedProject> {
  const projects = new Map<string, ServedProject>();
  for (const {
    name,
    version = '1.0.0',
    files = {},
    manifest = {},
    entries = [],
    hasWrongHash = false,
  } of packages) {
    const packageJson = { name, version, ...manifest };
    const allFiles = { 'package.json': JSON.stringify(packageJson), ...files };
    const archive = createTarball([
      ...Object.entries(allFiles).map(([path, content]) => ({ path: `package/${path}`, content })),
      ...entries,
    ]);
    const file = `${name.replace(/^.*\//, '')}-${version}.tgz`;
    const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
    const project = projects.get(name) ?? {
      packument: { name, 'dist-tags': {}, versions: {} },
      files: new Map(),
    };
    const dist = { tarball: `${origin}/${name}/-/${file}`, integrity };
    const versions = project.packument['versions'] as Record<string, unknown>;
    versions[version] = {
      ...packageJson,
      dist,
      ...('scripts' in manifest ? { hasInstallScript: true } : {}),
    };
    (project.packument['dist-tags'] as Record<string, string>)['latest'] = version;
    project.files.set(
      file,
      hasWrongHash ? createTarball([{ path: 'package/package.json', content: '{}' }]) : archive,
    );
    projects.set(name, project);
  }
  return projects;
}

/** Starts a registry of npm packages over HTTP on this machine, which is closed after the test. */
export async function openTestNpmRegistry(packages: readonly FixturePackage[]): Promise<NpmRegistry> {
  const registry = await openNpmRegistry(packages);
  onTestFinished(() => registry.close());
  return registry;
}

/** Starts a registry of npm packages over HTTP on this machine. The caller closes it. */
export async function openNpmRegistry(packages: readonly FixturePackage[]): Promise<NpmRegistry> {
  const registry: { -readonly [K in keyof NpmRegistry]: NpmRegistry[K] } = {
    requestPaths: [],
    authorizationHeaders: new Set(),
    url: '',
    intercept: () => false,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  let projects = new Map<string, ServedProject>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1);
    registry.requestPaths.push(path);
    if (request.headers.authorization !== undefined)
      registry.authorizationHeaders.add(request.headers.authorization);
    if (registry.intercept(request, response)) return;
    const [name = '', file] = path.split('/-/');
    const project = projects.get(name);
    const body = file === undefined ? JSON.stringify(project?.packument) : project?.files.get(file);
    response.statusCode = project === undefined || body === undefined ? 404 : 200;
    response.setHeader('content-type', file === undefined ? 'application/json' : 'application/octet-stream');
    response.end(response.statusCode === 200 ? body : '{"error":"not found"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  registry.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  projects = projectsOf(packages, registry.url);
  return registry;
}
