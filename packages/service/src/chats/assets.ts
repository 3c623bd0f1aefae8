import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';

const ASSETS = new Set(['page.css', 'chat.js', 'form.js', 'resume.js', 'password.js', 'shared.js']);
const CONTENT_TYPES: { readonly [extension: string]: string } = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** The page loads only files of this server, runs no inline scripts, and cannot be embedded in an iframe. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Returns the response of a page. */
export function pageResponse(html: string, status = 200): Response {
  return new Response(html, {
    status,
    headers: {
      ...HEADERS,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'Cache-Control': 'no-store',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
    },
  });
}

/** Returns a script or the styles of the pages; undefined for other names. */
export async function assetResponse(name: string): Promise<Response | undefined> {
  if (!ASSETS.has(name)) return undefined;
  const headers = {
    ...HEADERS,
    'Content-Type': CONTENT_TYPES[extname(name)] ?? '',
    'Cache-Control': 'public, max-age=300',
  };
  // The scripts and styles need no build. The CLI bundles this module, so their folder is located through the package.
  const folder = dirname(createRequire(import.meta.url).resolve('@heddle/service/package.json'));
  return new Response(await readFile(join(folder, 'pages', name)), { headers });
}
