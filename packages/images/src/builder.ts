import type { ImageBlob, ImageFeatures } from '@heddle/sandbox';

/** The content of an image in canonical form: entries trimmed, without comments, deduplicated, sorted. */
export interface ImageSpec {
  readonly language: 'javascript' | 'python';
  /** npm or PEP 508 specifiers: a name with an optional range. */
  readonly dependencies: readonly string[];
  /** Ids from the catalogue of command-line tools. */
  readonly cliTools: readonly string[];
  /** Debian packages: `name[:arch][=version]`. */
  readonly systemPackages: readonly string[];
}

/** A package chosen by resolution. */
export interface LockEntry {
  readonly name: string;
  readonly version: string;
  /** `sha256:<hex>` or `sha512:<hex>` of the artifact. */
  readonly digest: string;
}

/** The result of resolution: the exact packages. Kept for rebuilds, even for another runtime. */
export interface Lock {
  readonly entries: readonly LockEntry[];
  /** JSON that the builder needs to install the entries, such as a lockfile or URLs. Not part of the lock's hash. */
  readonly data: unknown;
}

/** The files that a builder made from a lock; the store moves them out of the work folder. */
export interface AssembledImage {
  /** Blob name → absolute path in the work folder. */
  readonly blobs: { readonly [name: string]: string };
  readonly features: ImageFeatures;
  /** Sentences for the author of the specification. */
  readonly warnings: readonly string[];
  /** Tools that were used, name → version; informational. */
  readonly tools: { readonly [name: string]: string };
}

/** A user's environment variables and home folder, where package managers keep their settings. */
export interface UserEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/** Package sources. The default of each is the public registry. */
export interface Registries {
  /** npm settings by their names in .npmrc: `registry`, `@scope:registry`, `//host/:_authToken`, `cafile`, … */
  readonly npm?: { readonly [setting: string]: string };
  readonly python?: {
    /** A simple index (PEP 503, 691); default PyPI. Credentials in the URL are sent but never shown. */
    readonly index?: string;
    readonly extraIndexes?: readonly string[];
    /**
     * URL of the server that has the index's files, if different. Like every host named here, it may have a private
     * address.
     */
    readonly filesUrl?: string;
    /** A folder of wheels that is searched before any index. */
    readonly wheelhouse?: string;
    /** URL of the wheels of the Pyodide distribution; their digests come from its lock file. */
    readonly pyodide?: string;
  };
  readonly go?: {
    /** Module proxies in order, such as `https://proxy.golang.org`. Credentials in a URL are sent but never shown. */
    readonly proxies?: readonly string[];
    /** When the next proxy is tried: if one does not have the module (`not-found`, the default), or after any error. */
    readonly fallbackOn?: 'not-found' | 'any-error';
  };
  readonly debian?: {
    /** For example `https://deb.debian.org/debian`. */
    readonly mirror?: string;
    /**
     * For example `bookworm`; default: the suite that the host itself uses, otherwise the default release of images.
     */
    readonly suite?: string;
    /** With a mirror: URL of the security archive, whose suite is `<suite>-security`. */
    readonly security?: string;
    /** A keyring file; one of its keys must have signed the archives. */
    readonly keyring?: string;
    /** True if the mirror is a dated snapshot: its release files may be expired, and older than ones seen before. */
    readonly snapshot?: boolean;
  };
}

export interface FetchOptions {
  /** A larger response fails with `image_too_large`. */
  readonly maxBytes: number;
  readonly headers?: { readonly [name: string]: string };
}

/** Services for one build. */
export interface BuildContext {
  /** An empty folder for this build, removed afterwards. */
  readonly workFolder: string;
  readonly registries: Registries;
  /** Aborted at the build's deadline and on cancellation; pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** Adds a line to the log, without tokens and paths. The end of the log becomes `errorDetail`. */
  log(this: void, line: string): void;
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Stores `value` under a name if it is larger than the stored number. Returns the previous number, or undefined.
   * All builds in a folder share these numbers.
   */
  updateMaximum(name: string, value: number): number | undefined;
  /** Reports the current step as a short phrase. */
  reportProgress(step: string): void;
  /**
   * Returns the file at the URL, from the store if present. `digest` is `sha256:<hex>` or `sha512:<hex>`.
   * @throws ImageError integrity_error, image_too_large, registry_unavailable, rate_limited, package_not_found (404).
   */
  fetchVerified(url: string, digest: string, options: FetchOptions): Promise<ImageBlob>;
  /**
   * Returns the folder with this name from the store; `make` fills it if it does not exist. A name always refers to the
   * same content. Link to the files, and never change them.
   */
  findOrMakeFolder(name: string, make: (folder: string) => Promise<void>): Promise<ImageBlob>;
  /**
   * Fetches a page of a registry. The caller handles all statuses except 5xx and 429.
   * @throws ImageError registry_unavailable, rate_limited, image_too_large.
   */
  fetchPage(url: string, options: FetchOptions): Promise<{ status: number; url: string; body: Uint8Array }>;
}

/**
 * Builds one kind of image. Both steps throw ImageError; other errors are recorded as `provider_error`. After a crash,
 * another process may repeat a step with the same arguments.
 */
export interface ImageBuilder {
  readonly runtime: 'isolate' | 'native';
  /**
   * Everything besides the lock that affects the files: versions, digests of bundled programs, ABI. Part of the runtime
   * key.
   */
  runtimeKeyParts(): Promise<{ readonly [name: string]: string }>;
  /** Resolves the exact packages of a specification. Requires the registry. */
  resolve(spec: ImageSpec, context: BuildContext): Promise<Lock>;
  /** Assembles the files of an image. `spec` contains the names that code can import. */
  assemble(lock: Lock, spec: ImageSpec, context: BuildContext): Promise<AssembledImage>;
}

/**
 * The builders by kind. `native` builds specifications with command-line tools or system packages and, if available,
 * those that another builder refused with `no_compatible_wheel` or `unsupported_package`.
 */
export interface ImageBuilders {
  readonly javascript?: ImageBuilder;
  readonly python?: ImageBuilder;
  readonly native?: ImageBuilder;
}
