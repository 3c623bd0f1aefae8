import { EgressProxy } from '@heddle/sandbox/build';
import {
  type IpAddress,
  type ConnectionOptions,
  createEgress,
  deniedError,
  type Egress,
  type EgressRequest,
  type EgressResponse,
  followRedirects,
  type Hop,
  isEgressError,
} from '@heddle/sandbox/egress';
import { OPERATOR_RANGES } from '../fetcher.ts';
import type { NpmSettings } from './npm-settings.ts';
import { RegistrySettings } from './registry-settings.ts';

/** Quotas of one proxy. */
const MAX_REQUESTS = 50_000;
const MAX_BYTES = 4 * 2 ** 30;
/** Maximum size of one response, decompressed. */
const MAX_RESPONSE_BYTES = 512 * 2 ** 20;
const TIMEOUT_MS = 300_000;
const MAX_REDIRECTS = 5;

/** Placeholder for the address of a name that a proxy resolves. */
const PROXIED_ADDRESS: IpAddress = { address: '192.0.2.1', family: 4 };

/**
 * npm's only access to its registries: a proxy on a socket that allows only requests to hosts named in the settings. It
 * adds credentials, which npm does not have, and follows redirects to public addresses without them.
 */
export class RegistryProxy {
  readonly #settings: RegistrySettings;
  readonly #clients = new Map<string, Egress>();
  readonly #proxy: EgressProxy;
  #failureReason: string | undefined;

  /** Opens the proxy for one run of npm. */
  static async open(settings: NpmSettings): Promise<RegistryProxy> {
    const proxy = new RegistryProxy(settings);
    await proxy.#proxy.listen();
    return proxy;
  }

  private constructor(settings: NpmSettings) {
    this.#settings = new RegistrySettings(settings);
    this.#proxy = new EgressProxy({
      send: (request, signal) => this.#send(request, signal),
      // Without `resolveTarget`, tunnels are refused: the proxy could not inspect their content or add credentials.
      maxRequests: MAX_REQUESTS,
      maxBytes: MAX_BYTES,
    });
  }

  /** Path of the proxy's socket. */
  get path(): string {
    return this.#proxy.path;
  }

  /** The settings that npm gets. */
  get settings(): NpmSettings {
    return this.#settings.npmSettings;
  }

  /** Why the last failed request failed; undefined if none failed. */
  get failureReason(): string | undefined {
    return this.#failureReason;
  }

  async close(): Promise<void> {
    await this.#proxy.close();
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  async #send(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    try {
      return await this.#sendWithRedirects(request, signal);
    } catch (error) {
      this.#failureReason = isEgressError(error) ? error.message : 'The request could not be sent.';
      throw error;
    }
  }

  async #sendWithRedirects(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    const { method = 'GET' } = request;
    if (method !== 'GET' && method !== 'HEAD')
      throw deniedError(`A build only reads from registries; ${method} is not allowed.`);
    const headers = headerPairsOf(request.headers).filter(
      ([name]) => !/^(?:authorization|cookie|npm-auth-.*)$/i.test(name),
    );
    const { response } = await followRedirects(
      { url: this.#registryUrl(request.url), method, headers },
      {
        send: async (hop) => {
          const url = new URL(hop.url);
          return { ...(await this.#sendOnce(url, hop, signal)), requestUrl: url };
        },
        maxRedirects: MAX_REDIRECTS,
        createError: deniedError,
      },
    );
    return response;
  }

  /** Returns the URL of a request. Throws EgressError for a URL that belongs to no registry. */
  #registryUrl(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url !== undefined && this.#settings.namesHost(url)) return url;
    const host = url?.host ?? text.slice(0, 100);
    throw deniedError(`A build requested ${host}, which is not a registry in npm's settings.`);
  }

  /**
   * Sends one request. Hosts named in the settings may have private addresses; hosts that they redirect to may not, and
   * get no credentials.
   */
  #sendOnce(url: URL, { method, headers }: Hop, signal: AbortSignal): Promise<EgressResponse> {
    const isNamed = this.#settings.namesHost(url);
    const credentials = isNamed ? this.#settings.credentialsFor(url) : {};
    const connection = this.#settings.connectionFor(url, credentials);
    const { authorization } = credentials;
    return this.#client(isNamed, connection).fetch({
      url: url.href,
      method,
      headers: authorization === undefined ? headers : [...headers, ['authorization', authorization]],
      redirect: 'manual',
      signal,
    });
  }

  #client(isNamed: boolean, connection: ConnectionOptions): Egress {
    const key = JSON.stringify([isNamed, connection]);
    const cachedClient = this.#clients.get(key);
    if (cachedClient !== undefined) return cachedClient;
    const usesProxy = connection.proxy !== undefined;
    const client = createEgress(
      {
        ports: 'any',
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
        maxRedirects: 0,
        ...((isNamed || usesProxy) && { allowPrivate: OPERATOR_RANGES }),
      },
      usesProxy ? async () => [PROXIED_ADDRESS] : undefined,
      connection,
    );
    this.#clients.set(key, client);
    return client;
  }
}

function headerPairsOf(headers: EgressRequest['headers']): [string, string][] {
  if (headers === undefined) return [];
  const pairs = Array.isArray(headers) ? (headers as [string, string][]) : Object.entries(headers);
  return pairs.map(([name, value]) => [name.toLowerCase(), String(value)]);
}
