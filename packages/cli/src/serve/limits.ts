import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type { Limits } from '@heddle/api';
import type { LimitPlan } from '@heddle/service/access';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';

/** Matches loopback hosts, which only this machine can reach. */
export const LOOPBACK_HOST = /^(localhost|127(\.\d+){3}|::1)$/;

/** Options of `heddle serve` about limits. */
export interface LimitOptions extends StoreOptions {
  host: string;
  /** A limits file. */
  limits?: string;
}

/** The limits of a server. `close` closes their shared store. */
export interface ServerLimits {
  limits: Limits;
  close: () => Promise<void>;
}

/**
 * Returns the limits of a server: those in the file, or without a file those of a plan. The plan is `enterprise` if
 * other machines can reach the server, else `none`. Processes of one PostgreSQL database share their limits.
 */
export async function openLimits(
  options: LimitOptions,
  { operationIds, onError }: { operationIds: readonly string[]; onError: (error: unknown) => void },
): Promise<ServerLimits> {
  const access = await import('@heddle/service/access');
  const defaultPlan = LOOPBACK_HOST.test(options.host) ? access.PLANS.none : access.PLANS.enterprise;
  const plan = options.limits === undefined ? defaultPlan : await readPlan(options.limits, operationIds);
  const [buckets, concurrency] = [access.bucketsOf(plan), access.concurrencyOf(plan)];
  const requestLimits = { timeouts: access.timeoutsOf(plan), bodyBytes: access.bodyBytesOf(plan) };
  if (Object.keys(buckets).length === 0 && !concurrency) {
    return { limits: requestLimits, close: () => Promise.resolve() };
  }
  if (options.postgres !== undefined) {
    const sharedLimits = await access.openSharedLimits({
      ...{ url: options.postgres, buckets, onError },
      ...(concurrency && { concurrency }),
    });
    return {
      limits: {
        ...requestLimits,
        rate: sharedLimits.limiter,
        ...(concurrency && { concurrency: sharedLimits.concurrency }),
      },
      close: () => sharedLimits.close(),
    };
  }
  const { memoryConcurrency, memoryLimiter } = await import('@heddle/api');
  return {
    limits: {
      ...requestLimits,
      rate: memoryLimiter(buckets),
      ...(concurrency && { concurrency: memoryConcurrency(concurrency) }),
    },
    close: () => Promise.resolve(),
  };
}

async function readPlan(file: string, operationIds: readonly string[]): Promise<LimitPlan> {
  const { parseLimits } = await import('@heddle/service/access');
  try {
    return parseLimits(readFileSync(file, 'utf8'), operationIds);
  } catch (error) {
    throw new UsageError(
      `--limits ${file}: ${(error as Error).message}`,
      'See docs/limits.md for its fields.',
    );
  }
}

/** Number of 16-bit groups in an IPv6 address. */
const ADDRESS_GROUPS = 8;
/** Number of leading groups that identify the network of a customer. */
const NETWORK_GROUPS = 4;

/**
 * Returns the client address to which limits per address apply: the peer of the connection, or with `proxyCount` the
 * address that the outermost proxy has added to `X-Forwarded-For`. For an IPv6 address, returns only the network (/64),
 * because one customer can use all addresses in it.
 */
export function clientAddressOf(
  headers: Headers,
  peer: string | undefined,
  proxyCount: number,
): string | undefined {
  // A caller can put anything before the entries of the proxies, but nothing after them.
  const forwardedAddresses = headers.get('x-forwarded-for')?.split(',') ?? [];
  const address = proxyCount === 0 ? peer : (forwardedAddresses.at(-proxyCount)?.trim() ?? peer);
  if (address === undefined || !isIPv6(address)) return address;
  return /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1] ?? networkOf(address);
}

function networkOf(address: string): string {
  const [left = '', right = ''] = address.split('::').map((half) => half.replace(/^:|:$/g, ''));
  const [head, tail] = [left, right].map((half) => (half === '' ? [] : half.split(':'))) as [
    string[],
    string[],
  ];
  const zeros = Array<string>(ADDRESS_GROUPS - head.length - tail.length).fill('0');
  return `${[...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
