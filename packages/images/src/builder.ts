import type { ImageBlob, ImageFeatures } from '@heddle/sandbox';

/** What an image has to contain, in canonical form: entries trimmed, without comments, deduplicated, sorted. */
export interface ImageSpec {
  readonly language: 'javascript' | 'python';
  /** npm or PEP 508 specifiers: a name with an optional range. */
  readonly dependencies: readonly string[];
  /** Ids of the catalogue of command-line tools. */
  readonly cliTools: readonly string[];
  /** Debian packages: `name[:arch][=version]`. */
  readonly systemPackages: readonly string[];
}

/** One package that resolution chose. */
export interface LockEntry {
  readonly name: string;
  readonly version: string;
  /** `sha256:<hex>` or `sha512:<hex>` of the artifact. */
  readonly digest: string;
}

/** The result of resolution: the exact packages, also for a rebuild for another runtime. */
export interface Lock {
  readonly entries: readonly LockEntry[];
  /** What the builder needs to install the entries, as JSON: a lockfile, URLs. Not part of the lock's hash. */
  readonly data: unknown;
}

/** The files that a builder made from a lock, in its work folder; the store moves them. */
export interface Assembled {
  /** Blob name → absolute path in the work folder. */
  readonly blobs: { readonly [name: string]: string };
  readonly features: ImageFeatures;
  /** Sentences for the author of the spec. */
  readonly warnings: readonly string[];
  /** Tools that took part, name → version; for the record. */
  readonly tools: { readonly [name: string]: string };
}

/** Where packages come from. Default of each: the public registry. */
export interface Registries {
  /** npm's own settings, by their names in .npmrc: `registry`, `@scope:registry`, `//host/:_authToken`, `cafile`, … */
  readonly npm?: { readonly [setting: string]: string };
  readonly python?: {
    /** A simple index (PEP 503, 691); default PyPI. Credentials of the URL are sent and never shown. */
    readonly index?: string;
    readonly extraIndexes?: readonly string[];
    /** The host of the index's files, if it is another one. Like every host named here it may have a private address. */
    readonly files?: string;
    /** A folder of wheels, which is looked at before every index. */
    readonly wheelhouse?: string;
    /** Where the wheels of the Pyodide distribution are; their digests come from its lock. */
    readonly pyodide?: string;
  };
  readonly go?: {
    /** Module proxies in their order, such as `https://proxy.golang.org`. Credentials of a URL are sent and never shown. */
    readonly proxies?: readonly string[];
    /** When the next proxy is asked: if one does not have the module (`absence`, the default), or after any failure. */
    readonly nextAfter?: 'absence' | 'failure';
  };
  readonly debian?: {
    /** Such as `https://deb.debian.org/debian`. */
    readonly mirror?: string;
    /** Such as `bookworm`; default: what the host itself installs from, else the release that images are made of. */
    readonly suite?: string;
    /** Beside the mirror: where the security archive is, with a suite `<suite>-security`. */
    readonly security?: string;
    /** A file of keys; one of them has to have signed the archives. */
    readonly keyring?: string;
    /** Whether the mirror is a snapshot of an earlier day: its release files may be expired, and older than others seen before. */
    readonly snapshot?: boolean;
  };
}

export interface FetchOptions {
  /** A larger response fails with `image_too_large`. */
  readonly maxBytes: number;
  readonly headers?: { readonly [name: string]: string };
}

/** What a builder gets for one build. */
export interface BuildContext {
  /** An empty folder for this build only, removed after it. */
  readonly workFolder: string;
  readonly registries: Registries;
  /** Aborted at the deadline of the build and when it is cancelled; pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** Adds a line to the log, whose end becomes `errorDetail`; tokens and paths are removed by the core. */
  log(line: string): void;
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Returns the largest number that builds in this folder have stored under the name, or null, and stores `value` if it is
   * larger.
   */
  largest(name: string, value: number): number | null;
  /** Reports the current step to the caller, as a short sentence. */
  progress(step: string): void;
  /**
   * Returns the file at the URL, from the store if it is there. `digest`: `sha256:<hex>` or `sha512:<hex>`.
   * @throws ImageError integrity_error, image_too_large, registry_unavailable, rate_limited, package_not_found (404).
   */
  fetchVerified(url: string, digest: string, options: FetchOptions): Promise<ImageBlob>;
  /**
   * Returns the folder of that name in the store; `make` fills it if it is not there. Equal names are equal folders, for ever.
   * Link to its files, and never change them.
   */
  kept(name: string, make: (folder: string) => Promise<void>): Promise<ImageBlob>;
  /**
   * Fetches a page of a registry. The caller handles statuses other than 5xx and 429.
   * @throws ImageError registry_unavailable, rate_limited, image_too_large.
   */
  fetchPage(url: string, options: FetchOptions): Promise<{ status: number; url: string; body: Uint8Array }>;
}

/**
 * Builds one kind of image. Both steps throw ImageError; anything else is recorded as `provider_error`.
 * After a crash another process may run a step again, with the same arguments.
 */
export interface ImageBuilder {
  readonly runtime: 'isolate' | 'native';
  /** Everything besides the lock that the files depend on: versions, digests of preludes, ABI. Part of the runtime key. */
  runtimeParts(): Promise<{ readonly [name: string]: string }>;
  /** Resolves the exact packages of a spec. Needs the registry. */
  resolve(spec: ImageSpec, context: BuildContext): Promise<Lock>;
  /** Assembles the files of an image. `spec` has the names that code can import. */
  assemble(lock: Lock, spec: ImageSpec, context: BuildContext): Promise<Assembled>;
}

/**
 * The builder of each kind. `native` builds what names command-line tools or system packages, and, when it is there, what
 * another builder refused with `no_compatible_wheel` or `unsupported_package`.
 */
export interface ImageBuilders {
  readonly javascript?: ImageBuilder;
  readonly python?: ImageBuilder;
  readonly native?: ImageBuilder;
}
