import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type FixtureWheel, encodeWheel, formatWheelFilename, formatWheelMetadata } from './wheel.ts';

/** A wheel, and what the index publishes about it. */
export interface IndexedWheel extends FixtureWheel {
  readonly yanked?: string;
  /** True if the index also has the metadata of the wheel as a separate file. */
  readonly hasSeparateMetadata?: boolean;
  /** True if the served file does not have the published hash. */
  readonly hasWrongHash?: boolean;
  /** The requirements in the separate metadata file; default: those of the wheel. */
  readonly publishedRequirements?: readonly string[];
}

export interface PythonIndexOptions {
  /** The format of the pages. Default: json. */
  readonly format?: 'json' | 'html';
  /** True if the index supports range requests; default true. */
  readonly supportsRanges?: boolean;
}

export interface PythonIndex {
  /** The base URL: `url` followed by the name of a project and a slash is the page of the project. */
  readonly url: string;
  close(): void;
  /** Requested paths, with the range if one was requested. */
  readonly requests: string[];
  /** Called before the index responds to a request. If it returns true, it has sent the response itself. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
}

interface ServedWheel {
  readonly wheel: IndexedWheel;
  readonly filename: string;
  readonly bytes: Buffer;
}

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

function publishedMetadata(wheel: IndexedWheel): string {
  return formatWheelMetadata(
    wheel.publishedRequirements === undefined ? wheel : { ...wheel, requires: wheel.publishedRequirements },
  );
}

function pageOf(wheels: readonly ServedWheel[], format: 'json' | 'html'): string {
  if (format === 'html') return `<!DOCTYPE html><html><body>${wheels.map(anchorOf).join('\n')}</body></html>`;
  const files = wheels.map(({ wheel, filename, bytes }) => ({
    filename,
    url: `../../files/${filename}`,
    hashes: { sha256: sha256(bytes) },
    size: bytes.length,
    yanked: wheel.yanked ?? false,
    ...(wheel.requiresPython === undefined ? {} : { 'requires-python': wheel.requiresPython }),
    ...(wheel.hasSeparateMetadata === true && {
      'core-metadata': { sha256: sha256(publishedMetadata(wheel)) },
    }),
  }));
  return JSON.stringify({ meta: { 'api-version': '1.1' }, name: wheels[0]?.wheel.name, files });
}

function anchorOf({ wheel, filename, bytes }: ServedWheel): string {
  const python = wheel.requiresPython?.replace('<', '&lt;').replace('>', '&gt;');
  const attributes = [
    `href="../../files/${filename}#sha256=${sha256(bytes)}"`,
    ...(python === undefined ? [] : [`data-requires-python="${python}"`]),
    ...(wheel.yanked === undefined ? [] : [`data-yanked="${wheel.yanked}"`]),
    ...(wheel.hasSeparateMetadata === true
      ? [`data-core-metadata="sha256=${sha256(publishedMetadata(wheel))}"`]
      : []),
  ];
  return `<a ${attributes.join(' ')}>${filename}</a><br>`;
}

function sendFile(
  path: string,
  range: string | undefined,
  wheels: readonly ServedWheel[],
  response: ServerResponse,
): void {
  const entry = wheels.find(({ filename }) => path === filename || path === `${filename}.metadata`);
  if (!entry) return void response.writeHead(404).end();
  if (path.endsWith('.metadata')) return void response.end(publishedMetadata(entry.wheel));
  const bytes = entry.wheel.hasWrongHash === true ? Buffer.from('something else') : entry.bytes;
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
  if (start === undefined) return void response.end(bytes);
  response.writeHead(206).end(bytes.subarray(Number(start), Number(end) + 1));
}

/** Starts a Python package index (the simple API of PyPI) on this machine. The index is closed after the test. */
export async function openTestPythonIndex(
  wheels: readonly IndexedWheel[],
  options?: PythonIndexOptions,
): Promise<PythonIndex> {
  const index = await openPythonIndex(wheels, options);
  onTestFinished(() => index.close());
  return index;
}

/** Starts a Python package index (the simple API of PyPI) on this machine. The caller closes it. */
export async function openPythonIndex(
  wheels: readonly IndexedWheel[],
  { format = 'json', supportsRanges = true }: PythonIndexOptions = {},
): Promise<PythonIndex> {
  const servedWheels = wheels.map((wheel) => ({
    wheel,
    filename: formatWheelFilename(wheel),
    bytes: encodeWheel(wheel),
  }));
  const requests: string[] = [];
  const state = { intercept: (): boolean => false } as Pick<PythonIndex, 'intercept'>;
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    const range = supportsRanges ? request.headers.range : undefined;
    requests.push(range === undefined ? path : `${path} ${range}`);
    if (state.intercept(request, response)) return;
    const file = /^\/files\/(.*)$/.exec(path)?.[1];
    if (file !== undefined) return sendFile(file, range, servedWheels, response);
    const name = /^\/simple\/([^/]+)\/$/.exec(path)?.[1];
    const projectWheels = servedWheels.filter(
      ({ wheel }) => wheel.name.toLowerCase().replaceAll(/[-_.]+/g, '-') === name,
    );
    if (projectWheels.length === 0) return void response.writeHead(404).end();
    response.end(pageOf(projectWheels, format));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, { url: `http://127.0.0.1:${port}/simple/`, requests, close });
}
