/** The allowed destinations of requests, and their limits. Plain data, so that a configuration file can contain it. */
export interface EgressPolicy {
  /**
   * Non-public addresses to allow: `true` for private, loopback, shared and unique-local ones, or a list of CIDR
   * ranges. Link-local and cloud metadata addresses need a range that contains them. Default false.
   */
  readonly allowPrivate?: boolean | readonly string[];
  /** If given, only these hosts are allowed: `api.example.com`, or `*.example.com` for all names below it. */
  readonly allowHosts?: readonly string[];
  /**
   * Additional destinations to allow: `HOST`, `HOST:PORT`, or a CIDR range instead of the host; `*.NAME` for all names
   * below it, `*` for any port. Without a port, those of `ports` apply. A named host may resolve to private addresses;
   * reserved ones need a range.
   */
  readonly exceptions?: readonly string[];
  /**
   * Destinations that are never allowed, in the form of `exceptions`; without a port, for all ports. Takes precedence
   * over all other options.
   */
  readonly denyHosts?: readonly string[];
  /**
   * Advice in the messages of refused requests; `{target}` stands for HOST:PORT. Default: to add the target to
   * `exceptions`; empty: no advice.
   */
  readonly hint?: string;
  /** Allowed ports; default 80, 443, 8080 and 8443. */
  readonly ports?: readonly number[] | 'any';
  /** Time limit of a request including redirects, in milliseconds; default 60,000. */
  readonly timeoutMs?: number;
  /** Maximum size of a response body after decompression, in bytes; default 10 MiB. */
  readonly maxResponseBytes?: number;
  /** Maximum size of a response body with `toFile`, in bytes; default 100 MiB. */
  readonly maxFileBytes?: number;
  /** Maximum number of redirects to follow; default 5. */
  readonly maxRedirects?: number;
}

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/**
 * A quota of response bytes that several requests share. A response that is not read to its end returns its bytes to
 * the quota.
 */
export interface ByteQuota {
  remainingBytes: number;
}

export interface EgressRequest {
  readonly url: string;
  /** Default GET. */
  readonly method?: string;
  readonly headers?: HeaderPairs | Readonly<Record<string, string>>;
  /** Null means no body, as in the Fetch API. */
  readonly body?: string | Uint8Array | null | undefined;
  /** Default follow. */
  readonly redirect?: 'follow' | 'manual' | 'error';
  readonly signal?: AbortSignal;
  /** `timeoutMs` and `maxResponseBytes` apply if they are lower than the policy's values. */
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
  /**
   * True if the body is written to a file as it arrives, so that `maxFileBytes` of the policy applies instead of
   * `maxResponseBytes`. Only for `open`.
   */
  readonly toFile?: boolean;
  /**
   * The response bytes that the requests of one job may still receive. Without this quota, concurrent responses could
   * together exceed the host's memory.
   */
  readonly byteQuota?: ByteQuota;
}

interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  /** URL of the response, after redirects. */
  readonly url: string;
  readonly redirected: boolean;
  /** Names in lower case; repeated headers are separate pairs. */
  readonly headers: [name: string, value: string][];
}

export interface EgressResponse extends ResponseHead {
  readonly body: Uint8Array;
}

/** A response whose body is read as it arrives. */
export interface EgressStream extends ResponseHead {
  /**
   * The body, decompressed. Read it to the end or cancel it: until then, it keeps its connection. Reading fails with an
   * EgressError, for example when the time limit of the request passes.
   */
  readonly body: ReadableStream<Uint8Array>;
}

export interface IpAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Returns all addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly IpAddress[]>;

/** A request to check a server of a protocol other than HTTP. */
export interface ServerCheckRequest {
  /** A name or an address. */
  readonly host: string;
  readonly port: number;
  /** Allowed ports if the policy has none. */
  readonly ports: readonly number[];
  readonly signal?: AbortSignal;
}

/** A URL that the policy allows, with the addresses that were checked: only these may be connected to. */
export interface Target {
  readonly url: URL;
  readonly addresses: readonly IpAddress[];
}
