import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { normalizeAddress, parseRanges, classOf } from './addresses.ts';
import { parseDestinations } from './destinations.ts';
import type { Destinations } from './destinations.ts';
import { deniedError, EgressError } from './error.ts';
import type { IpAddress, EgressPolicy, Resolve, Target } from './types.ts';

const DEFAULT_PORTS = [80, 443, 8080, 8443];
const MAX_URL_CHARS = 8_192;
/** Names that are resolvable only inside a network. */
const INTERNAL_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|corp|home|private|home\.arpa|svc|cluster)$/;

const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })) as IpAddress[];

/** Checks a URL against a policy. */
export type Check = (url: string | URL) => Promise<Target>;

/** Returns a host in the form of a URL's hostname: lower case, Punycode, without a trailing dot. */
function normalizeHost(host: string): string {
  const bareHost = host.replace(/\.$/, '');
  return domainToASCII(bareHost) || bareHost.toLowerCase();
}

function matches(patterns: readonly string[], host: string): boolean {
  return patterns.some((pattern) => {
    const isWildcard = pattern.startsWith('*.');
    const name = normalizeHost(isWildcard ? pattern.slice(2) : pattern);
    return isWildcard ? host.endsWith(`.${name}`) : host === name;
  });
}

function parseHttpUrl(text: string | URL): URL {
  if (String(text).length > MAX_URL_CHARS)
    throw deniedError(`The URL has more than ${MAX_URL_CHARS} characters.`);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw deniedError(
      `"${String(text).slice(0, 200)}" is not a URL; write it with its scheme, like https://example.com/path.`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw deniedError(`Requests to ${url.protocol} URLs are not allowed; use http: or https:.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw deniedError(
      `The URL of ${url.hostname} contains credentials; send them in an Authorization header.`,
    );
  }
  return url;
}

/** Returns why the policy, apart from its exceptions, refuses this host and port; undefined if it allows them. */
function refusalOf(host: string, port: number, policy: EgressPolicy): string | undefined {
  if (policy.allowHosts !== undefined && !matches(policy.allowHosts, host))
    return `Requests to ${host} are not allowed by the egress policy (allowHosts)`;
  const isInternal = isIP(host) === 0 && (!host.includes('.') || INTERNAL_NAME.test(host));
  if (isInternal && (policy.allowPrivate ?? false) === false) return `${host} is an internal host name`;
  if (!allowsPort(policy, port)) return `Requests to port ${port} of ${host} are not allowed`;
  return undefined;
}

function allowsPort({ ports = DEFAULT_PORTS }: EgressPolicy, port: number): boolean {
  return ports === 'any' || ports.includes(port);
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly IpAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family: family as 4 | 6 }];
  let addresses: readonly IpAddress[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    throw new EgressError('EGRESS_FAILED', `The host ${host} could not be found.`, { cause: error });
  }
  if (addresses.length === 0) throw new EgressError('EGRESS_FAILED', `The host ${host} has no address.`);
  return addresses;
}

/**
 * Returns the error for a refusal, with the advice of the policy on how to allow the request. A host with unusual
 * characters is not repeated, since users may paste the advice into a shell.
 */
function deniedErrorWithAdvice(
  refusal: string,
  target: string,
  { hint = DEFAULT_HINT }: EgressPolicy,
): EgressError {
  if (hint === '') return deniedError(`${refusal}.`);
  const shownTarget = /^[\w.:[\]*-]+$/.test(target) ? target : 'HOST:PORT';
  return deniedError(`${refusal}; ${hint.replaceAll('{target}', () => shownTarget)} to allow it.`);
}

const DEFAULT_HINT = 'add "{target}" to exceptions in the egress policy';

/** Returns the function that decides whether a policy, apart from its exceptions, allows an address. */
function createAddressRule({ allowPrivate = false }: EgressPolicy): (address: IpAddress) => boolean {
  const allowedRanges = typeof allowPrivate === 'boolean' ? undefined : parseRanges(allowPrivate);
  return (address) => {
    const addressClass = classOf(address);
    if (addressClass === 'public') return true;
    return allowedRanges === undefined
      ? allowPrivate === true && addressClass === 'private'
      : allowedRanges.check(address.address, address.family === 4 ? 'ipv4' : 'ipv6');
  };
}

/** The parts of a requested URL that a policy checks. */
interface RequestedUrl {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
}

function parseUrl(text: string | URL): RequestedUrl {
  const url = parseHttpUrl(text);
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase();
  return { url, host, port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)) };
}

/** Decides which URLs and addresses a policy allows. */
class Guard {
  readonly #policy: EgressPolicy;
  readonly #resolve: Resolve;
  readonly #permits: (address: IpAddress) => boolean;
  readonly #exceptionsFor: (port: number) => Destinations;
  readonly #deniedDestinationsFor: (port: number) => Destinations;

  constructor(policy: EgressPolicy, resolve: Resolve) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.#permits = createAddressRule(policy);
    this.#exceptionsFor = parseDestinations(policy.exceptions ?? [], 'exceptions', (port) =>
      allowsPort(policy, port),
    );
    this.#deniedDestinationsFor = parseDestinations(policy.denyHosts ?? [], 'denyHosts', () => true);
  }

  async check(text: string | URL): Promise<Target> {
    const requestedUrl = parseUrl(text);
    const { url, host, port } = requestedUrl;
    const [exceptions, deniedDestinations] = [this.#exceptionsFor(port), this.#deniedDestinationsFor(port)];
    if (deniedDestinations.hasHost(host)) throw denyHostsError(host);
    const isException = exceptions.hasHost(host);
    const refusal = isException ? undefined : refusalOf(host, port, this.#policy);
    const addresses = await this.#addresses(requestedUrl, refusal, exceptions.hasRanges);
    for (const address of addresses) {
      if (deniedDestinations.hasAddress(address)) throw denyHostsError(host);
      if (exceptions.hasAddress(address)) continue;
      if (refusal !== undefined)
        throw deniedErrorWithAdvice(refusal, hostAndPortOf(requestedUrl), this.#policy);
      this.#requirePermitted(requestedUrl, address, isException);
    }
    return { url, addresses };
  }

  /**
   * Resolves the host. A refused name is resolved only if the exceptions contain address ranges, and then errors of the
   * resolution are hidden: otherwise user code could find out which internal names exist.
   */
  async #addresses(
    requestedUrl: RequestedUrl,
    refusal: string | undefined,
    hasRanges: boolean,
  ): Promise<readonly IpAddress[]> {
    const denialError =
      refusal === undefined
        ? undefined
        : deniedErrorWithAdvice(refusal, hostAndPortOf(requestedUrl), this.#policy);
    if (denialError && !hasRanges) throw denialError;
    try {
      return (await addressesOf(requestedUrl.host, this.#resolve)).map(normalizeAddress);
    } catch (resolveError) {
      throw denialError ?? resolveError;
    }
  }

  /**
   * Throws unless the address is allowed. `isException`: the policy names the host as an exception, so that it may
   * resolve to private addresses.
   */
  #requirePermitted(requestedUrl: RequestedUrl, address: IpAddress, isException: boolean): void {
    const addressClass = classOf(address);
    if (this.#permits(address) || (isException && addressClass === 'private')) return;
    const description = addressClass === 'private' ? 'a private address' : 'a reserved address';
    // The message does not contain the address: user code could otherwise query the network's resolver.
    const isLiteral = address.address === requestedUrl.host;
    const refusal = `${requestedUrl.host} ${isLiteral ? 'is' : 'resolves to'} ${description}`;
    const target =
      isLiteral || addressClass === 'private' ? hostAndPortOf(requestedUrl) : `CIDR:${requestedUrl.port}`;
    throw deniedErrorWithAdvice(refusal, target, this.#policy);
  }
}

function hostAndPortOf({ host, port }: RequestedUrl): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function denyHostsError(host: string): EgressError {
  return deniedError(`Requests to ${host} are refused by the egress policy (denyHosts).`);
}

/**
 * Returns the check of a policy. It throws EGRESS_DENIED, or returns the URL with its checked addresses. All addresses
 * of a host must be allowed, and connections must use only them: another resolution could return different ones.
 * @throws SandboxError INVALID_OPTION for an invalid policy.
 */
export function createCheck(policy: EgressPolicy, resolve: Resolve = systemResolve): Check {
  const guard = new Guard(policy, resolve);
  return (text) => guard.check(text);
}
