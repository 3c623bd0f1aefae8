import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { createTar, type TarEntry } from './tarball.ts';

/** A package of a mirror. `fields` are its fields in the index, such as `Depends` and `Conflicts`. */
export interface FixtureDeb {
  readonly name: string;
  readonly version?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly files?: readonly TarEntry[];
  readonly compression?: 'gz' | 'zst' | '';
  /** Served instead of the file that the index lists. */
  readonly servedBytes?: Buffer;
}

export interface DebianMirror {
  readonly url: string;
  /** The paths of the requests so far. */
  readonly requestPaths: readonly string[];
  /** Responses by path: a body, or a status. Tests may change them. */
  readonly routes: Map<string, Buffer | number>;
}

/** Returns a member of an `ar` archive, the format of a .deb. */
function createArMember(name: string, bytes: Buffer): Buffer {
  const header = [name.padEnd(16), '0'.padEnd(12), '0'.padEnd(6), '0'.padEnd(6), '100644'.padEnd(8)].join('');
  const padding = bytes.length % 2 === 0 ? '' : '\n';
  return Buffer.concat([
    Buffer.from(`${header}${String(bytes.length).padEnd(10)}\`\n`),
    bytes,
    Buffer.from(padding),
  ]);
}

/** Returns the bytes of a .deb. */
export function debOf({ files = [], compression = 'gz' }: Omit<FixtureDeb, 'name'>): Buffer {
  const bytes = createTar(files);
  const data =
    compression === 'gz' ? gzipSync(bytes) : compression === 'zst' ? zstdCompressSync(bytes) : bytes;
  const extension = compression === '' ? '' : `.${compression}`;
  return Buffer.concat([
    Buffer.from('!<arch>\n'),
    createArMember('debian-binary', Buffer.from('2.0\n')),
    createArMember(`data.tar${extension}`, data),
  ]);
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/**
 * Starts an HTTP mirror of Debian packages with the suite `stable`. `responses` adds or replaces responses by path: a
 * body, or a status.
 */
export async function openTestDebianMirror(
  debs: readonly FixtureDeb[],
  responses: Readonly<Record<string, Buffer | number>> = {},
): Promise<DebianMirror> {
  const routes = new Map<string, Buffer | number>();
  const paragraphs: string[] = [];
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  for (const deb of debs) {
    const { name, version = '1.0', fields = {}, servedBytes } = deb;
    const bytes = debOf(deb);
    const path = `pool/${name}_${version.replaceAll(':', '%3a')}_${architecture}.deb`;
    routes.set(`/${path}`, servedBytes ?? bytes);
    const indexFields = {
      Package: name,
      Version: version,
      Architecture: architecture,
      ...fields,
      Filename: path,
      Size: String(bytes.length),
      SHA256: sha256(bytes),
    };
    paragraphs.push(
      Object.entries(indexFields)
        .map(([key, value]) => `${key}: ${value}\n`)
        .join(''),
    );
  }
  const index = gzipSync(paragraphs.join('\n'));
  const indexPath = `main/binary-${architecture}/Packages.gz`;
  routes.set(`/dists/stable/${indexPath}`, index);
  const release = `Suite: stable\nSHA256:\n ${sha256(index)} ${index.length} ${indexPath}\n`;
  routes.set('/dists/stable/Release', Buffer.from(release));
  for (const [path, body] of Object.entries(responses)) routes.set(path, body);
  const requestPaths: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURI(request.url ?? '');
    requestPaths.push(path);
    const route = routes.get(request.url ?? '') ?? routes.get(path) ?? 404;
    if (typeof route === 'number') response.writeHead(route).end();
    else response.end(route);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requestPaths, routes };
}
