import { BlockList, isIP, isIPv4 } from 'node:net';
import { SandboxError } from '../error.ts';
import type { Address } from './types.ts';

/** Hosts by name, or addresses by range, and the port: `any`, or undefined where the text names none. */
interface Destination {
  readonly names: readonly string[];
  readonly range: BlockList;
  readonly port: number | 'any' | undefined;
}

/** Destinations of a policy, asked for one port. */
export interface Destinations {
  /** Whether a destination names this host, which is written as URLs write it. */
  hasHost(host: string): boolean;
  /** Whether a range holds this normalized address. */
  hasAddress(address: Address): boolean;
  /** Whether there are ranges at all. */
  readonly hasRanges: boolean;
}

const PORTS = 65_536;

/** A host as URLs have it: in lower case, other scripts encoded, without the root's dot; undefined where it is none. */
function hostOf(text: string): string | undefined {
  if (/[\s/?#@:\\*]/.test(text) || !URL.canParse(`http://${text}/`)) return undefined;
  return new URL(`http://${text}/`).hostname.replace(/\.$/, '') || undefined;
}

/** The part before the port, and the port; an IPv6 address with a port stands in brackets. */
function split(text: string): { place: string; port: string | undefined } {
  const bracketed = /^\[([^\]]*)\](\/\d+)?(?::(\d+|\*))?$/.exec(text);
  if (bracketed) return { place: `${bracketed[1]}${bracketed[2] ?? ''}`, port: bracketed[3] };
  const [, place, port] = /^([^:]*):(\d+|\*)$/.exec(text) ?? [];
  return { place: place ?? text, port };
}

function rangeOf(place: string): BlockList | undefined {
  const [address = '', bits, ...rest] = place.split('/');
  const most = isIPv4(address) ? 32 : 128;
  const prefix = bits ?? String(most);
  if (isIP(address) === 0 || rest.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > most)
    return undefined;
  const range = new BlockList();
  range.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6');
  return range;
}

/** The port that the digits stand for; null for one that does not exist. */
function portOf(digits: string | undefined): Destination['port'] | null {
  if (digits === undefined) return undefined;
  if (digits === '*') return 'any';
  const port = Number(digits);
  return port < 1 || port >= PORTS ? null : port;
}

function parse(text: string): Destination | undefined {
  const { place, port: digits } = split(text.trim());
  const port = portOf(digits);
  if (port === null) return undefined;
  const below = place.startsWith('*.');
  const host = hostOf(below ? place.slice(2) : place);
  // 127.1 is an address in the eyes of a URL.
  const range = rangeOf(place) ?? (below || host === undefined ? undefined : rangeOf(host));
  if (range) return { names: [], range, port };
  return host === undefined
    ? undefined
    : { names: [below ? `.${host}` : host], range: new BlockList(), port };
}

/** Whether the text is `HOST[:PORT]` or `CIDR[:PORT]`, as a policy takes it. */
export function isDestination(text: string): boolean {
  return parse(text) !== undefined;
}

/**
 * The destinations of a policy's option: for a port, those that name it. `unnamed`: whether it is a port of those that name none.
 * @throws SandboxError INVALID_OPTION for a text that is no destination.
 */
export function destinationsOf(
  texts: readonly string[],
  option: string,
  unnamed: (port: number) => boolean,
): (port: number) => Destinations {
  const all = texts.map((text) => {
    const destination = parse(text);
    if (destination) return destination;
    throw new SandboxError(
      'INVALID_OPTION',
      `"${text}" in ${option} is no destination; write it like api.internal:8080, *.internal or 10.1.0.0/16:*.`,
    );
  });
  return (port) => {
    const on = all.filter((each) =>
      each.port === undefined ? unnamed(port) : [port, 'any'].includes(each.port),
    );
    return {
      hasHost: (host) =>
        on.some(({ names }) =>
          names.some((name) => (name.startsWith('.') ? host.endsWith(name) : host === name)),
        ),
      hasAddress: ({ address, family }) =>
        on.some(({ range }) => range.check(address, family === 4 ? 'ipv4' : 'ipv6')),
      hasRanges: on.some(({ range }) => range.rules.length > 0),
    };
  };
}
