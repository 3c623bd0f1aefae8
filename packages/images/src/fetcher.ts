import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageBlob } from '@heddle/sandbox';
import {
  createEgress,
  type Egress,
  type EgressResponse,
  followRedirects,
  isEgressError,
  type HeaderList,
} from '@heddle/sandbox/egress';
import type { Blobs } from './blobs.ts';
import type { FetchOptions, Registries } from './builder.ts';
import { ImageError } from './error.ts';

const TIMEOUT_MS = 300_000;
const MAX_BYTES = 2 ** 30;
const MAX_REDIRECTS = 5;

/**
 * Address ranges that an operator's own hosts may use: internal networks, and ranges for documentation and benchmarks,
 * which gateways of isolated networks use. Link-local ranges are not included.
 */
export const OPERATOR_RANGES = [
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '127.0.0.0/8', '100.64.0.0/10'],
  ...['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '198.18.0.0/15'],
  ...['::1/128', 'fc00::/7', '2001:db8::/32'],
];

/**
 * Returns the hosts in the operator's settings. They may have private addresses, unlike hosts that they redirect to.
 */
function hostsOf(value: unknown): string[] {
  if (typeof value === 'string')
    return /^https?:/.test(value) && URL.canParse(value) ? [new URL(value).hostname] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(hostsOf) : [];
}

/** Fetches from registries within size limits, from public addresses and the operator's own hosts. */
export class Fetcher {
  readonly #publicEgress: Egress;
  readonly #operatorEgress: Egress;
  readonly #operatorHosts: ReadonlySet<string>;

  constructor(registries: Registries) {
    const limits = {
      ports: 'any',
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_BYTES,
      maxRedirects: 0,
    } as const;
    this.#operatorHosts = new Set(hostsOf(registries));
    this.#publicEgress = createEgress(limits);
    this.#operatorEgress = createEgress({ ...limits, allowPrivate: OPERATOR_RANGES });
  }

  /**
   * Fetches the page at the URL and follows redirects. Throws ImageError registry_unavailable, rate_limited,
   * image_too_large.
   */
  async fetchPage(
    url: string,
    { maxBytes, headers = {} }: FetchOptions,
    signal: AbortSignal,
  ): Promise<{ status: number; url: string; body: Uint8Array }> {
    const pageUrl = new URL(url);
    const allHeaders: HeaderList = Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]);
    if (pageUrl.username !== '') {
      const userAndPassword = `${decodeURIComponent(pageUrl.username)}:${decodeURIComponent(pageUrl.password)}`;
      allHeaders.push(['authorization', `Basic ${Buffer.from(userAndPassword).toString('base64')}`]);
      pageUrl.username = pageUrl.password = '';
    }
    const { response } = await followRedirects(
      { url: pageUrl, method: 'GET', headers: allHeaders },
      {
        send: async (hop) => {
          const hopUrl = new URL(hop.url);
          const response = await this.#send(hopUrl, hop.headers, { maxBytes, signal });
          return { ...response, requestUrl: hopUrl };
        },
        maxRedirects: MAX_REDIRECTS,
        createError: (message) => new ImageError('registry_unavailable', message),
      },
    );
    return toPage(response, response.requestUrl);
  }

  /** Returns the file at the URL, from the store or fetched, and verified against its digest. */
  async fetchVerified(
    source: { readonly url: string; readonly digest: string; readonly workFolder: string },
    options: FetchOptions,
    blobs: Blobs,
    signal: AbortSignal,
  ): Promise<ImageBlob> {
    const { url, digest, workFolder } = source;
    const match = /^(sha256|sha512):([0-9a-f]+)$/.exec(digest);
    if (match === null) throw new ImageError('provider_error', `"${digest}" is not a digest.`);
    const cachedBlob = await blobs.find(digest);
    if (cachedBlob !== undefined) return cachedBlob;
    const { status, body } = await this.fetchPage(url, options, signal);
    const { host, pathname } = new URL(url);
    const file = pathname.slice(pathname.lastIndexOf('/') + 1);
    if (status === 404 || status === 410)
      throw new ImageError('package_not_found', `${host} has no file ${file}.`);
    if (status !== 200)
      throw new ImageError('registry_unavailable', `${host} responded with ${status} for the file ${file}.`);
    const actualDigest = createHash(match[1] as string)
      .update(body)
      .digest('hex');
    if (actualDigest !== match[2])
      throw new ImageError(
        'integrity_error',
        `The file ${file} of ${host} does not match its expected digest ${digest}.`,
      );
    const path = join(workFolder, `fetched-${randomUUID()}`);
    await writeFile(path, body);
    return blobs.add(path, digest);
  }

  async close(): Promise<void> {
    await Promise.all([this.#publicEgress.close(), this.#operatorEgress.close()]);
  }

  async #send(
    url: URL,
    headers: HeaderList,
    { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
  ): Promise<EgressResponse> {
    const egress = this.#operatorHosts.has(url.hostname) ? this.#operatorEgress : this.#publicEgress;
    try {
      return await egress.fetch({
        url: url.href,
        headers,
        redirect: 'manual',
        maxResponseBytes: maxBytes,
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!isEgressError(error)) throw error;
      if (error.code === 'EGRESS_TOO_LARGE')
        throw new ImageError('image_too_large', `A file of ${url.host} has more than ${maxBytes} bytes.`);
      throw new ImageError('registry_unavailable', error.message, { cause: error });
    }
  }
}

/** Returns the page in a response. Throws ImageError rate_limited for the status 429, registry_unavailable for 5xx. */
function toPage(
  { status, body }: EgressResponse,
  url: URL,
): { status: number; url: string; body: Uint8Array } {
  if (status === 429)
    throw new ImageError('rate_limited', `${url.host} is receiving too many requests; build again later.`);
  if (status >= 500) throw new ImageError('registry_unavailable', `${url.host} responded with ${status}.`);
  return { status, url: url.href, body };
}
