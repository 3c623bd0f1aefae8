import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { normalize, parseRanges, reachOf } from './addresses.ts';
import { destinationsOf } from './destinations.ts';
import type { Destinations } from './destinations.ts';
import { denied, EgressError } from './error.ts';
import type { Address, EgressPolicy, Resolve, Target } from './types.ts';

const DEFAULT_PORTS = [80, 443, 8080, 8443];
const MAX_URL_CHARS = 8_192;
/** Names that only mean something inside a network. */
const INTERNAL_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|corp|home|private|home\.arpa|svc|cluster)$/;

const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })) as Address[];

/** The policy as a function: what may be connected to. */
export type Check = (url: string | URL) => Promise<Target>;

/** A host as URLs have it: in lower case, other scripts encoded, without the root's dot. */
function nameOf(host: string): string {
  const bare = host.replace(/\.$/, '');
  return domainToASCII(bare) || bare.toLowerCase();
}

function matches(patterns: readonly string[], host: string): boolean {
  return patterns.some((pattern) => {
    const below = pattern.startsWith('*.');
    const name = nameOf(below ? pattern.slice(2) : pattern);
    return below ? host.endsWith(`.${name}`) : host === name;
  });
}

function parse(text: string | URL): URL {
  if (String(text).length > MAX_URL_CHARS) throw denied(`The URL has more than ${MAX_URL_CHARS} characters.`);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw denied(
      `"${String(text).slice(0, 200)}" is no URL; write it with its scheme, like https://example.com/path.`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw denied(`Requests to ${url.protocol} URLs are not allowed; use http: or https:.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw denied(`The URL of ${url.hostname} carries credentials; send them in an Authorization header.`);
  }
  return url;
}

/** Why the policy, its exceptions aside, allows nothing at this host and port; undefined where it does. */
function refusalOf(host: string, port: number, policy: EgressPolicy): string | undefined {
  if (policy.allowHosts !== undefined && !matches(policy.allowHosts, host))
    return `Requests to ${host} are not allowed by the egress policy (allowHosts)`;
  const internal = isIP(host) === 0 && (!host.includes('.') || INTERNAL_NAME.test(host));
  if (internal && (policy.allowPrivate ?? false) === false) return `${host} is a name of an internal network`;
  if (!hasPort(policy, port)) return `Requests to port ${port} of ${host} are not allowed`;
  return undefined;
}

function hasPort({ ports = DEFAULT_PORTS }: EgressPolicy, port: number): boolean {
  return ports === 'any' || ports.includes(port);
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly Address[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family: family as 4 | 6 }];
  let addresses: readonly Address[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    throw new EgressError('EGRESS_FAILED', `The host ${host} could not be found.`, { cause: error });
  }
  if (addresses.length === 0) throw new EgressError('EGRESS_FAILED', `The host ${host} has no address.`);
  return addresses;
}

/** The error of a refusal, with what would allow the request. A host that a shell would read as more than a name is not repeated. */
function refused(fault: string, target: string, { remedy = REMEDY }: EgressPolicy): EgressError {
  if (remedy === '') return denied(`${fault}.`);
  const named = /^[\w.:[\]*-]+$/.test(target) ? target : 'HOST:PORT';
  return denied(`${fault}; ${remedy.replaceAll('{target}', () => named)} to allow it.`);
}

const REMEDY = 'add "{target}" to exceptions in the egress policy';

/** What a policy says of addresses. */
function permitting({ allowPrivate = false }: EgressPolicy): (address: Address) => boolean {
  const allowed = typeof allowPrivate === 'boolean' ? null : parseRanges(allowPrivate);
  return (address) => {
    const reach = reachOf(address);
    if (reach === 'public') return true;
    return allowed === null
      ? allowPrivate === true && reach === 'private'
      : allowed.check(address.address, address.family === 4 ? 'ipv4' : 'ipv6');
  };
}

/** What is asked for: a URL in the parts that a policy looks at. */
interface Asked {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
}

function askedFor(text: string | URL): Asked {
  const url = parse(text);
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase();
  return { url, host, port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)) };
}

/** A policy in the form in which it is asked. */
class Guard {
  readonly #policy: EgressPolicy;
  readonly #resolve: Resolve;
  readonly #permits: (address: Address) => boolean;
  readonly #exceptions: (port: number) => Destinations;
  readonly #denied: (port: number) => Destinations;

  constructor(policy: EgressPolicy, resolve: Resolve) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.#permits = permitting(policy);
    this.#exceptions = destinationsOf(policy.exceptions ?? [], 'exceptions', (port) => hasPort(policy, port));
    this.#denied = destinationsOf(policy.denyHosts ?? [], 'denyHosts', () => true);
  }

  async check(text: string | URL): Promise<Target> {
    const asked = askedFor(text);
    const { url, host, port } = asked;
    const [exceptions, barred] = [this.#exceptions(port), this.#denied(port)];
    if (barred.hasHost(host)) throw isBarred(host);
    const named = exceptions.hasHost(host);
    const refusal = named ? undefined : refusalOf(host, port, this.#policy);
    const addresses = await this.#addresses(asked, refusal, exceptions.hasRanges);
    for (const address of addresses) {
      if (barred.hasAddress(address)) throw isBarred(host);
      if (exceptions.hasAddress(address)) continue;
      if (refusal !== undefined) throw refused(refusal, targetOf(asked), this.#policy);
      this.#expectPermitted(asked, address, named);
    }
    return { url, addresses };
  }

  /** A name that is refused whatever it leads to is not looked up, or not told from one that does not exist: user code would learn which there are. */
  async #addresses(
    asked: Asked,
    refusal: string | undefined,
    hasRanges: boolean,
  ): Promise<readonly Address[]> {
    const error = refusal === undefined ? undefined : refused(refusal, targetOf(asked), this.#policy);
    if (error && !hasRanges) throw error;
    try {
      return (await addressesOf(asked.host, this.#resolve)).map(normalize);
    } catch (fault) {
      throw error ?? fault;
    }
  }

  /** `named`: the host is an exception, which may lead to private addresses. */
  #expectPermitted(asked: Asked, address: Address, named: boolean): void {
    const reach = reachOf(address);
    if (this.#permits(address) || (named && reach === 'private')) return;
    const what = reach === 'private' ? 'a private address' : 'a reserved address';
    // Which address is not told: user code could ask a resolver inside the network for all that it knows.
    const isItself = address.address === asked.host;
    const fault = `${asked.host} ${isItself ? 'is' : 'leads to'} ${what}`;
    const target = isItself || reach === 'private' ? targetOf(asked) : `CIDR:${asked.port}`;
    throw refused(fault, target, this.#policy);
  }
}

function targetOf({ host, port }: Asked): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function isBarred(host: string): EgressError {
  return denied(`Requests to ${host} are refused by the egress policy (denyHosts).`);
}

/**
 * The check of a policy: refuses with EGRESS_DENIED, or gives the URL with the addresses that were looked at.
 * All addresses of a host have to be allowed, and only they may be connected to: a second resolution could tell others.
 * @throws SandboxError INVALID_OPTION for a wrong policy.
 */
export function createCheck(policy: EgressPolicy, resolve: Resolve = systemResolve): Check {
  const guard = new Guard(policy, resolve);
  return (text) => guard.check(text);
}
