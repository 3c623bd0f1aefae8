import { Proxy } from '@heddle/sandbox/build';
import { denied, type EgressRequest, type EgressResponse } from '@heddle/sandbox/egress';
import type { BuildContext } from '../../../builder.ts';
import { ImageError, isImageError } from '../../../error.ts';
import { MAX_PACKAGE_BYTES } from '../../limits.ts';
import { askProxies } from './proxies.ts';

/** Of one tool. */
const MAX_REQUESTS = 20_000;
const MAX_BYTES = 4 * 2 ** 30;

/** The only host that Go knows of: the gate asks the real ones. */
const HOST = 'modules.invalid';

/** What a client asks a module proxy for: a path of a module, and a file of one of its versions. */
const FILE = /^\/[a-z0-9._~!/-]+\/@v\/[A-Za-z0-9._~!+-]+\.(?:info|mod|zip)$/;

/**
 * The only way from Go to the module proxies: a proxy on a socket that answers for files of modules alone. The host connects,
 * and is the only one that knows where to and as whom.
 */
export class GoGate {
  /** The module proxy that Go is told of. */
  static readonly url = `http://${HOST}`;
  readonly #context: BuildContext;
  readonly #proxy: Proxy;
  #fault: ImageError | null = null;

  static async open(context: BuildContext): Promise<GoGate> {
    const gate: { made?: GoGate } = {};
    const proxy = await Proxy.open({
      send: (request) => (gate.made as GoGate).#send(request),
      check: null,
      requests: MAX_REQUESTS,
      bytes: MAX_BYTES,
    });
    return (gate.made = new GoGate(context, proxy));
  }

  private constructor(context: BuildContext, proxy: Proxy) {
    this.#context = context;
    this.#proxy = proxy;
  }

  /** The path of its socket. */
  get path(): string {
    return this.#proxy.path;
  }

  /** Why the last request that failed was not answered, or null. */
  get fault(): ImageError | null {
    return this.#fault;
  }

  close(): Promise<void> {
    return this.#proxy.close();
  }

  async #send({ url, method = 'GET' }: EgressRequest): Promise<EgressResponse> {
    // Go escapes the mark of a capital letter.
    const path = url.startsWith(GoGate.url) ? url.slice(GoGate.url.length).replaceAll('%21', '!') : '';
    // In its normal form: nothing in it leads upwards.
    if (method !== 'GET' || !FILE.test(path) || new URL(path, GoGate.url).pathname !== path)
      throw denied('A build only reads files of modules.');
    try {
      const { status, host, body } = await askProxies(path, MAX_PACKAGE_BYTES, this.#context);
      if (status !== 200) this.#fault = refusal(status, host, path);
      return { status, statusText: '', url, redirected: false, headers: [], body };
    } catch (error) {
      if (isImageError(error)) this.#fault = error;
      throw denied(isImageError(error) ? error.message : 'The request could not be sent.');
    }
  }
}

function refusal(status: number, host: string, path: string): ImageError {
  const file = path.slice(1, 200);
  return status === 404 || status === 410
    ? new ImageError('package_not_found', `${host} has no ${file}.`)
    : new ImageError('registry_unavailable', `${host} answered ${status} for ${file}.`);
}
