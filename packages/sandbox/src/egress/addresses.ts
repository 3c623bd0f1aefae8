import { BlockList, isIP, isIPv4 } from 'node:net';
import { SandboxError } from '../error.ts';
import type { IpAddress } from './types.ts';

/** Classification of an address: public, private, or reserved (never for user code). */
export type AddressClass = 'public' | 'private' | 'reserved';

function rangesOf(...cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return list;
}

// IANA special-purpose address registries for IPv4 and IPv6.
const PRIVATE_IPV4 = rangesOf(
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
);
const RESERVED_IPV4 = rangesOf(
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);
/** Addresses of cloud metadata services. Most of them look private; 168.63.129.16 looks public. */
const METADATA_SERVICES = rangesOf(
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
);
const PRIVATE_IPV6 = rangesOf('::1/128', 'fc00::/7');
const GLOBAL_IPV6 = rangesOf('2000::/3');
/**
 * Tunnels, documentation and benchmarking within 2000::/3; tunnel addresses embed an IPv4 address that was not checked.
 */
const SPECIAL_IPV6 = rangesOf('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** Returns the IPv4 address of a mapped IPv6 address (`::ffff:a.b.c.d`), otherwise the address itself. */
export function normalizeAddress(address: IpAddress): IpAddress {
  if (address.family !== 6) return address;
  const hostname = new URL(`http://[${address.address.split('%')[0] ?? ''}]/`).hostname.slice(1, -1);
  const match = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(hostname);
  if (match === null) return { address: hostname, family: 6 };
  const high = Number.parseInt(match[1] as string, 16);
  const low = Number.parseInt(match[2] as string, 16);
  return { address: `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`, family: 4 };
}

/** Returns the class of a normalized address. */
export function classOf({ address, family }: IpAddress): AddressClass {
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (METADATA_SERVICES.check(address, type)) return 'reserved';
  if (family === 4)
    return PRIVATE_IPV4.check(address, type)
      ? 'private'
      : RESERVED_IPV4.check(address, type)
        ? 'reserved'
        : 'public';
  if (PRIVATE_IPV6.check(address, type)) return 'private';
  return GLOBAL_IPV6.check(address, type) && !SPECIAL_IPV6.check(address, type) ? 'public' : 'reserved';
}

/** Parses the ranges of a policy. Throws SandboxError INVALID_OPTION for an invalid CIDR range. */
export function parseRanges(cidrs: readonly string[]): BlockList {
  for (const cidr of cidrs) {
    const [address = '', bits = '', ...rest] = cidr.split('/');
    const maxBits = isIP(address) === 4 ? 32 : 128;
    if (isIP(address) === 0 || rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > maxBits) {
      throw new SandboxError(
        'INVALID_OPTION',
        `"${cidr}" in allowPrivate is not an address range; write it like 10.1.0.0/16.`,
      );
    }
  }
  return rangesOf(...cidrs);
}
