import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface StudioOptions {
  /** The path below which the HTTP API is served, for example `/internal/heddle`. Default: the root. */
  basePath?: string;
}

/** Returns the response to a request for a page or one of its files; undefined for every other request. */
export type StudioHandler = (request: Request) => Promise<Response | undefined>;

/** Content types by file extension. Files with other extensions are not served. */
const CONTENT_TYPES: { readonly [extension: string]: string | undefined } = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** First path segments of the pages. All other paths belong to the HTTP API. */
const PAGE_SEGMENTS = new Set(['', 'runs', 'workflows', 'dashboard', 'settings']);

const ASSET_PATH = /^assets\/([\w-][\w.-]*)$/;

/** The folder of the build. Its relative path is the same from `src` and from `dist`. */
const BUILD_FOLDER = new URL('../dist/web/', import.meta.url);

const compress = promisify(gzip);

/** A file of the build, compressed for browsers that accept it. */
interface Asset {
  type: string;
  content: Buffer<ArrayBuffer>;
  compressedContent: Buffer<ArrayBuffer>;
}

/** Returns a function that serves the pages. Assets are cached. Throws a TypeError for an invalid base path. */
export function studioPages({ basePath = '' }: StudioOptions = {}): StudioHandler {
  if (!/^(\/[\w.~-]+)*$/.test(basePath))
    throw new TypeError(
      `The base path "${basePath}" is invalid: it must be empty, or like "/flows/api", with no other characters than letters, digits and -._~`,
    );
  const assets = new Map<string, Asset>();
  const loadAsset = async (name: string): Promise<Asset | undefined> => {
    const asset = assets.get(name) ?? (await readAsset(name));
    // Only existing files are cached: otherwise callers could fill the memory with unknown names.
    if (asset) assets.set(name, asset);
    return asset;
  };
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    if (pathname === basePath && basePath !== '') return redirect(`${basePath}/`);
    if (!pathname.startsWith(`${basePath}/`)) return undefined;
    const path = pathname.slice(basePath.length + 1);
    const [, name] = ASSET_PATH.exec(path) ?? [];
    if (name !== undefined) {
      const asset = await loadAsset(name);
      return asset && respondWithAsset(request, asset);
    }
    const [firstSegment = ''] = path.split('/');
    return PAGE_SEGMENTS.has(firstSegment) ? renderPage(request, `${basePath}/`) : undefined;
  };
}

async function readAsset(name: string): Promise<Asset | undefined> {
  const type = CONTENT_TYPES[extname(name)];
  if (type === undefined) return undefined;
  try {
    const content = await readFile(new URL(`assets/${name}`, BUILD_FOLDER));
    return { type, content, compressedContent: await compress(content) };
  } catch (error) {
    // The second code: the name is longer than the file system allows.
    if (['ENOENT', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

function respondWithAsset(request: Request, { type, content, compressedContent }: Asset): Response {
  const acceptsGzip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
  const body = acceptsGzip ? compressedContent : content;
  const headers = {
    'Content-Type': type,
    'Content-Length': String(body.byteLength),
    ...(acceptsGzip && { 'Content-Encoding': 'gzip' }),
    Vary: 'Accept-Encoding',
    // The name has a hash of the content.
    'Cache-Control': 'public, max-age=31536000, immutable',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
  return new Response(request.method === 'HEAD' ? null : body, { headers });
}

/** Returns the page. `base`: the path to which its URLs are relative. */
async function renderPage(request: Request, base: string): Promise<Response> {
  const nonce = randomBytes(18).toString('base64');
  const template = await readFile(new URL('index.html', BUILD_FOLDER), 'utf8');
  // The base path has no characters that are special in HTML.
  const html = template.replace('<base href="/" />', `<base href="${base}">`).replace('NONCE', nonce);
  return new Response(request.method === 'HEAD' ? null : html, { headers: pageHeaders(nonce) });
}

/**
 * Returns the headers of a page. The page loads only what this server serves, runs no inline script, and cannot be
 * embedded in another page. The nonce is for the style elements of the code editor and of dialogs.
 */
function pageHeaders(nonce: string): { [name: string]: string } {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "worker-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The Trusted Types policy for the worker that lays out graphs. It accepts one URL.
    'trusted-types heddle-layout',
  ];
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  };
}

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { Location: location, 'Cache-Control': 'no-store' } });
}
