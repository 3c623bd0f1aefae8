import { BlockList, isIP, isIPv4 } from 'node:net';
import { SandboxError } from '../error.ts';
import type { IpAddress, EgressPolicy } from './types.ts';

/** A host name or an address range, with a port; `undefined` if the policy states no port. */
interface Destination {
  /** The host name; with a leading dot, all names that end with it. Empty for a range. */
  readonly names: readonly string[];
  readonly range: BlockList;
  readonly port: number | 'any' | undefined;
}

/** The destinations of a policy that apply to one port. */
export interface Destinations {
  /** Returns whether a destination names this host, in the form of a URL's hostname. */
  hasHost(host: string): boolean;
  /** Returns whether a range contains this normalized address. */
  hasAddress(address: IpAddress): boolean;
  /** True if there are any ranges. */
  readonly hasRanges: boolean;
}

const PORT_COUNT = 65_536;

/**
 * Returns a host in the form of a URL's hostname (lower case, Punycode, without a trailing dot), or undefined if
 * invalid.
 */
function hostOf(text: string): string | undefined {
  if (/[\s/?#@:\\*]/.test(text) || !URL.canParse(`http://${text}/`)) return undefined;
  return new URL(`http://${text}/`).hostname.replace(/\.$/, '') || undefined;
}

/** Splits a destination into host or range and port. An IPv6 address with a port is in brackets. */
function splitPort(text: string): { host: string; port: string | undefined } {
  const bracketMatch = /^\[([^\]]*)\](\/\d+)?(?::(\d+|\*))?$/.exec(text);
  if (bracketMatch) return { host: `${bracketMatch[1]}${bracketMatch[2] ?? ''}`, port: bracketMatch[3] };
  const [, host, port] = /^([^:]*):(\d+|\*)$/.exec(text) ?? [];
  return { host: host ?? text, port };
}

function rangeOf(text: string): BlockList | undefined {
  const [address = '', bits, ...rest] = text.split('/');
  const maxBits = isIPv4(address) ? 32 : 128;
  const prefixLength = bits ?? String(maxBits);
  if (
    isIP(address) === 0 ||
    rest.length > 0 ||
    !/^\d{1,3}$/.test(prefixLength) ||
    Number(prefixLength) > maxBits
  )
    return undefined;
  const range = new BlockList();
  range.addSubnet(address, Number(prefixLength), isIPv4(address) ? 'ipv4' : 'ipv6');
  return range;
}

/** Returns the port of a destination: `any` for `*`, undefined for none, 0 for an invalid one. */
function portOf(text: string | undefined): Destination['port'] {
  if (text === undefined) return undefined;
  if (text === '*') return 'any';
  const port = Number(text);
  return port < PORT_COUNT ? port : 0;
}

function parseDestination(text: string): Destination | undefined {
  const { host: hostText, port: portText } = splitPort(text.trim());
  const port = portOf(portText);
  if (port === 0) return undefined;
  const isWildcard = hostText.startsWith('*.');
  const host = hostOf(isWildcard ? hostText.slice(2) : hostText);
  // URLs accept short forms of addresses such as 127.1.
  const range = rangeOf(hostText) ?? (isWildcard || host === undefined ? undefined : rangeOf(host));
  if (range) return { names: [], range, port };
  return host === undefined
    ? undefined
    : { names: [isWildcard ? `.${host}` : host], range: new BlockList(), port };
}

/** Returns whether the text is `HOST[:PORT]` or `CIDR[:PORT]`, as in a policy. */
export function isDestination(text: string): boolean {
  return parseDestination(text) !== undefined;
}

/**
 * Parses the destinations of a policy option. The returned function selects those that apply to a port. Destinations
 * without a port apply to the ports for which `isDefaultPort` returns true.
 * @throws SandboxError INVALID_OPTION for an invalid destination.
 */
export function parseDestinations(
  texts: readonly string[],
  option: string,
  isDefaultPort: (port: number) => boolean,
): (port: number) => Destinations {
  const destinations = texts.map((text) => {
    const destination = parseDestination(text);
    if (destination) return destination;
    throw new SandboxError(
      'INVALID_OPTION',
      `"${text}" in ${option} is not a destination; write it like api.internal:8080, *.internal or 10.1.0.0/16:*.`,
    );
  });
  return (port) => {
    const applicableDestinations = destinations.filter((destination) =>
      destination.port === undefined ? isDefaultPort(port) : [port, 'any'].includes(destination.port),
    );
    return {
      hasHost: (host) =>
        applicableDestinations.some(({ names }) =>
          names.some((name) => (name.startsWith('.') ? host.endsWith(name) : host === name)),
        ),
      hasAddress: ({ address, family }) =>
        applicableDestinations.some(({ range }) => range.check(address, family === 4 ? 'ipv4' : 'ipv6')),
      hasRanges: applicableDestinations.some(({ range }) => range.rules.length > 0),
    };
  };
}

/** The default ports of URLs, by scheme. */
const DEFAULT_PORTS: { readonly [protocol: string]: number } = {
  'http:': 80,
  'https:': 443,
  'postgresql:': 5432,
};

/** Returns the policy with an exception for the host and the port of a URL. */
export function withException(policy: EgressPolicy, url: string): EgressPolicy {
  const { host, protocol, port } = new URL(url);
  const destination = port === '' ? `${host}:${DEFAULT_PORTS[protocol]}` : host;
  return { ...policy, exceptions: [...(policy.exceptions ?? []), destination] };
}
