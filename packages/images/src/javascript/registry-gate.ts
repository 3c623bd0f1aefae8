import { Proxy } from '@heddle/sandbox/build';
import {
  type Address,
  type Connection,
  createEgress,
  denied,
  type Egress,
  type EgressRequest,
  type EgressResponse,
  followRedirects,
  type Hop,
  isEgressError,
} from '@heddle/sandbox/egress';
import { INTERNAL } from '../fetcher.ts';
import type { NpmSettings } from './npm-settings.ts';
import { RegistrySettings } from './registry-settings.ts';

/** Of one build's npm. */
const MAX_REQUESTS = 50_000;
const MAX_BYTES = 4 * 2 ** 30;
/** Of one answer, unpacked. */
const MAX_ANSWER_BYTES = 512 * 2 ** 20;
const TIMEOUT_MS = 300_000;
const MAX_REDIRECTS = 5;

/** In the place of the address of a name that a proxy looks up. */
const UNKNOWN: Address = { address: '192.0.2.1', family: 4 };

/**
 * The only way from npm to its registries: a proxy on a socket that lets requests through to hosts which the settings name, and
 * to nothing else. It adds credentials, which npm has not got, and follows redirects, to public addresses and without them.
 */
export class RegistryGate {
  readonly #settings: RegistrySettings;
  readonly #clients = new Map<string, Egress>();
  readonly #proxy: Proxy;
  #fault: string | null = null;

  /** Opens the gate for one run of npm. */
  static async open(settings: NpmSettings): Promise<RegistryGate> {
    const gate: { made?: RegistryGate } = {};
    const proxy = await Proxy.open({
      send: (request, signal) => (gate.made as RegistryGate).#send(request, signal),
      // Nobody would see what goes through a tunnel, nor could add credentials to it.
      check: null,
      requests: MAX_REQUESTS,
      bytes: MAX_BYTES,
    });
    return (gate.made = new RegistryGate(new RegistrySettings(settings), proxy));
  }

  private constructor(settings: RegistrySettings, proxy: Proxy) {
    this.#settings = settings;
    this.#proxy = proxy;
  }

  /** The path of its socket. */
  get path(): string {
    return this.#proxy.path;
  }

  /** What npm is told of the registries. */
  get settings(): NpmSettings {
    return this.#settings.inner;
  }

  /** Why the last request that failed was not answered, or null. */
  get fault(): string | null {
    return this.#fault;
  }

  async close(): Promise<void> {
    await this.#proxy.close();
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  async #send(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    try {
      return await this.#follow(request, signal);
    } catch (error) {
      this.#fault = isEgressError(error) ? error.message : 'The request could not be sent.';
      throw error;
    }
  }

  async #follow(request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    const { method = 'GET' } = request;
    if (method !== 'GET' && method !== 'HEAD')
      throw denied(`A build only reads from registries; ${method} is not let through.`);
    const headers = pairsOf(request.headers).filter(
      ([name]) => !/^(?:authorization|cookie|npm-auth-.*)$/i.test(name),
    );
    const { reply } = await followRedirects(
      { url: this.#placeOf(request.url), method, headers, body: null },
      {
        send: async (hop) => {
          const url = new URL(hop.url);
          return { ...(await this.#once(url, hop, signal)), at: url };
        },
        max: MAX_REDIRECTS,
        refusal: denied,
      },
    );
    return reply;
  }

  /** The URL that a build asks for. Throws EgressError for one that is at no registry. */
  #placeOf(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url !== null && this.#settings.isNamed(url)) return url;
    const host = url?.host ?? text.slice(0, 100);
    throw denied(`A build asked for ${host}, and npm's settings name no such registry.`);
  }

  /** One answer. Hosts that the settings name may be private; where they send us to may not, and is not told who we are. */
  #once(url: URL, { method, headers }: Hop, signal: AbortSignal): Promise<EgressResponse> {
    const isNamed = this.#settings.isNamed(url);
    const credentials = isNamed ? this.#settings.credentialsFor(url) : { authorization: null, client: null };
    const connection = this.#settings.connectionFor(url, credentials);
    const { authorization } = credentials;
    return this.#client(isNamed, connection).fetch({
      url: url.href,
      method,
      headers: authorization === null ? headers : [...headers, ['authorization', authorization]],
      redirect: 'manual',
      signal,
    });
  }

  #client(isNamed: boolean, connection: Connection): Egress {
    const key = JSON.stringify([isNamed, connection]);
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const viaProxy = connection.proxy !== undefined;
    const made = createEgress(
      {
        ports: 'any',
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: MAX_ANSWER_BYTES,
        maxRedirects: 0,
        ...((isNamed || viaProxy) && { allowPrivate: INTERNAL }),
      },
      viaProxy ? async () => [UNKNOWN] : undefined,
      connection,
    );
    this.#clients.set(key, made);
    return made;
  }
}

function pairsOf(headers: EgressRequest['headers']): [string, string][] {
  if (headers === undefined) return [];
  const pairs = Array.isArray(headers) ? (headers as [string, string][]) : Object.entries(headers);
  return pairs.map(([name, value]) => [name.toLowerCase(), String(value)]);
}
