import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { normalize, parseRanges, reachOf } from './addresses.ts';
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

function checkHost(host: string, policy: EgressPolicy): void {
  if (policy.denyHosts !== undefined && matches(policy.denyHosts, host)) {
    throw denied(`Requests to ${host} are refused by the egress policy (denyHosts).`);
  }
  if (policy.allowHosts !== undefined && !matches(policy.allowHosts, host)) {
    throw denied(`Requests to ${host} are not allowed; add the host to allowHosts in the egress policy.`);
  }
  const internal = isIP(host) === 0 && (!host.includes('.') || INTERNAL_NAME.test(host));
  if (internal && (policy.allowPrivate ?? false) === false) {
    throw denied(
      `${host} is a name of an internal network; set allowPrivate in the egress policy to allow it.`,
    );
  }
}

function checkPort(url: URL, host: string, policy: EgressPolicy): void {
  const ports = policy.ports ?? DEFAULT_PORTS;
  const port = Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);
  if (ports !== 'any' && !ports.includes(port)) {
    throw denied(
      `Requests to port ${port} of ${host} are not allowed; add the port to ports in the egress policy.`,
    );
  }
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

/**
 * The check of a policy: refuses with EGRESS_DENIED, or gives the URL with the addresses that were looked at.
 * All addresses of a host have to be allowed, and only they may be connected to: a second resolution could tell others.
 * @throws SandboxError INVALID_OPTION for a wrong policy.
 */
export function createCheck(policy: EgressPolicy, resolve: Resolve = systemResolve): Check {
  const { allowPrivate = false } = policy;
  const allowed = typeof allowPrivate === 'boolean' ? null : parseRanges(allowPrivate);
  const permits = (address: Address): boolean => {
    const reach = reachOf(address);
    if (reach === 'public') return true;
    return allowed === null
      ? allowPrivate === true && reach === 'private'
      : allowed.check(address.address, address.family === 4 ? 'ipv4' : 'ipv6');
  };
  return async (text) => {
    const url = parse(text);
    const host = url.hostname
      .replace(/^\[|\]$/g, '')
      .replace(/\.+$/, '')
      .toLowerCase();
    checkHost(host, policy);
    checkPort(url, host, policy);
    const addresses = (await addressesOf(host, resolve)).map(normalize);
    for (const address of addresses) {
      if (permits(address)) continue;
      const what = reachOf(address) === 'private' ? 'a private address' : 'a reserved address';
      // Which address is not told: user code could ask a resolver inside the network for all that it knows.
      const fault = address.address === host ? `${host} is ${what}` : `${host} leads to ${what}`;
      throw denied(`${fault}; add its range to allowPrivate in the egress policy to allow it.`);
    }
    return { url, addresses };
  };
}
