/** Where requests may go and how large they may be. Data only, so that it can come from a configuration file. */
export interface EgressPolicy {
  /**
   * Addresses that are not public: `true` for private, loopback, shared and unique-local ones, or a list of CIDR ranges.
   * Link-local and cloud metadata addresses are only ever allowed by a range that names them. Default false.
   */
  readonly allowPrivate?: boolean | readonly string[];
  /** When given, only these hosts: `api.example.com`, or `*.example.com` for every name below it. */
  readonly allowHosts?: readonly string[];
  /**
   * Destinations that are allowed besides: `HOST`, `HOST:PORT`, or a CIDR range in place of the host; `*.NAME` for every name
   * below it, `*` for any port. Without a port: `ports`. A named host may lead to private addresses; reserved ones need a range.
   */
  readonly exceptions?: readonly string[];
  /** Never these destinations, in the form of `exceptions`; without a port: none. They come before everything else. */
  readonly denyHosts?: readonly string[];
  /** What refusals say to do, `{target}` being HOST:PORT; default: to add it to `exceptions`; empty: nothing. */
  readonly remedy?: string;
  /** Ports that may be used; default 80, 443, 8080 and 8443. */
  readonly ports?: readonly number[] | 'any';
  /** Time for the whole exchange with its redirects, in milliseconds; default 60,000. */
  readonly timeoutMs?: number;
  /** Size of a response body after decompression, in bytes; default 10 MiB. */
  readonly maxResponseBytes?: number;
  /** Redirects that are followed; default 5. */
  readonly maxRedirects?: number;
}

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** Bytes that the responses of several requests may have together; those of a request that fails are given back. */
export interface Allowance {
  leftBytes: number;
}

export interface EgressRequest {
  readonly url: string;
  /** Default GET. */
  readonly method?: string;
  readonly headers?: HeaderPairs | Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  /** Default follow. */
  readonly redirect?: 'follow' | 'manual' | 'error';
  readonly signal?: AbortSignal;
  /** Lower than the policy's to have an effect. */
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
  /** Shared by the requests of one job: each may be small enough, and all at once more than the host has memory. */
  readonly allowance?: Allowance;
}

export interface EgressResponse {
  readonly status: number;
  readonly statusText: string;
  /** The URL that answered, after redirects. */
  readonly url: string;
  readonly redirected: boolean;
  /** Names in lower case; repeated headers are repeated pairs. */
  readonly headers: [name: string, value: string][];
  readonly body: Uint8Array;
}

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Gives all addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly Address[]>;

/** A URL that passed the policy, with the addresses it was judged by: the only ones that may be connected to. */
export interface Target {
  readonly url: URL;
  readonly addresses: readonly Address[];
}
