import { EgressProxy } from '@heddle/sandbox/build';
import { deniedError, type EgressRequest, type EgressResponse } from '@heddle/sandbox/egress';
import type { BuildContext } from '../../../builder.ts';
import { ImageError, isImageError } from '../../../error.ts';
import { MAX_PACKAGE_BYTES } from '../../limits.ts';
import { fetchFromProxies } from './proxies.ts';

/** Quotas of one tool's build. */
const MAX_REQUESTS = 20_000;
const MAX_BYTES = 4 * 2 ** 30;

/** The only host that Go knows; this proxy forwards its requests to the configured proxies. */
const HOST = 'modules.invalid';

/** Paths on a module proxy: a module path, and a file of one of its versions. */
const FILE_PATH = /^\/[a-z0-9._~!/-]+\/@v\/[A-Za-z0-9._~!+-]+\.(?:info|mod|zip)$/;

/**
 * Go's only access to module proxies: a proxy on a socket that serves only module files. Only the host knows the
 * proxies' URLs and credentials.
 */
export class GoModuleProxy {
  /** URL of the only module proxy that Go knows. */
  static readonly url = `http://${HOST}`;
  readonly #context: BuildContext;
  readonly #proxy: EgressProxy;
  #lastError: ImageError | undefined;

  static async open(context: BuildContext): Promise<GoModuleProxy> {
    const proxy = new GoModuleProxy(context);
    await proxy.#proxy.listen();
    return proxy;
  }

  private constructor(context: BuildContext) {
    this.#context = context;
    this.#proxy = new EgressProxy({
      send: (request) => this.#send(request),
      maxRequests: MAX_REQUESTS,
      maxBytes: MAX_BYTES,
    });
  }

  /** Path of the proxy's socket. */
  get path(): string {
    return this.#proxy.path;
  }

  /** The error of the last failed request, or undefined. */
  get lastError(): ImageError | undefined {
    return this.#lastError;
  }

  close(): Promise<void> {
    return this.#proxy.close();
  }

  async #send({ url, method = 'GET' }: EgressRequest): Promise<EgressResponse> {
    // Go escapes the `!` that marks a capital letter.
    const path = url.startsWith(GoModuleProxy.url)
      ? url.slice(GoModuleProxy.url.length).replaceAll('%21', '!')
      : '';
    // Only normalized paths, which cannot lead upwards.
    if (method !== 'GET' || !FILE_PATH.test(path) || new URL(path, GoModuleProxy.url).pathname !== path)
      throw deniedError('A build may only request module files.');
    try {
      const { status, host, body } = await fetchFromProxies(path, MAX_PACKAGE_BYTES, this.#context);
      if (status !== 200) this.#lastError = statusError(status, host, path);
      return { status, statusText: '', url, redirected: false, headers: [], body };
    } catch (error) {
      if (isImageError(error)) this.#lastError = error;
      throw deniedError(isImageError(error) ? error.message : 'The request could not be sent.');
    }
  }
}

function statusError(status: number, host: string, path: string): ImageError {
  const file = path.slice(1, 200);
  return status === 404 || status === 410
    ? new ImageError('package_not_found', `${host} has no ${file}.`)
    : new ImageError('registry_unavailable', `${host} responded with ${status} for ${file}.`);
}
