import type { ImageBlob, ImageFeatures } from './source.ts';

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

/** The outcome of resolution: exactly what is installed, also when the image is rebuilt for another runtime. */
export interface Lock {
  readonly entries: readonly LockEntry[];
  /** What the builder needs to install these entries again, as JSON: a lockfile, URLs. Not part of the lock's hash. */
  readonly data: unknown;
}

/** What a builder made of a lock, in its work folder; the store takes the files over. */
export interface Assembled {
  /** Blob name → absolute path in the work folder. */
  readonly blobs: { readonly [name: string]: string };
  readonly features: ImageFeatures;
  /** Sentences for the author of the spec. */
  readonly warnings: readonly string[];
  /** Name → version of the tools that took part; for the record. */
  readonly tools: { readonly [name: string]: string };
}

/** Where packages come from. What is absent has the builder's public default. */
export interface Registries {
  /** npm's own settings, by their names in .npmrc: `registry`, `@scope:registry`, `//host/:_authToken`, `cafile`, … */
  readonly npm?: { readonly [setting: string]: string };
  readonly python?: {
    /** A simple index (PEP 503, 691); default PyPI. Credentials of the URL are sent and never shown. */
    readonly index?: string;
    readonly extraIndexes?: readonly string[];
    /** Where the index has its files, if elsewhere: like every host named here it may have a private address. */
    readonly files?: string;
    /** A folder of wheels that goes before every index. */
    readonly wheelhouse?: string;
    /** Where the wheels of the Pyodide distribution are; their digests come from its lock. */
    readonly pyodide?: string;
  };
  readonly go?: {
    /** Module proxies in their order, such as `https://proxy.golang.org`. Credentials of a URL are sent and never shown. */
    readonly proxies?: readonly string[];
    /** When the next one is asked: where one has not got what is asked for (the default), or whatever it fails with. */
    readonly nextAfter?: 'absence' | 'failure';
  };
  readonly debian?: {
    /** Such as `https://deb.debian.org/debian`. */
    readonly mirror?: string;
    /** Such as `bookworm`; default: what the host itself installs from, else the release that images are made of. */
    readonly suite?: string;
    /** Beside the mirror: where the security archive is, with a suite `<suite>-security`. */
    readonly security?: string;
    /** A file of keys by one of which the archives have to be signed. */
    readonly keyring?: string;
    /** Whether the mirror is one of another day: its release files may have expired, and be older than others seen before. */
    readonly snapshot?: boolean;
  };
}

export interface FetchOptions {
  /** More than this ends with `image_too_large`. */
  readonly maxBytes: number;
  readonly headers?: { readonly [name: string]: string };
}

/** What a builder gets for one build. */
export interface BuildContext {
  /** An empty folder of this build alone, removed after it. */
  readonly workFolder: string;
  readonly registries: Registries;
  /** Aborted at the deadline of the build and when it is cancelled; give it to everything that waits. */
  readonly signal: AbortSignal;
  /** Adds a line to the log, whose end becomes `errorDetail`; tokens and paths are removed by the core. */
  log(line: string): void;
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * The largest number that builds in this folder have noted under the name, and notes this one where it is larger; null where
   * none was.
   */
  largest(name: string, value: number): number | null;
  /** Tells who waits what is being done: a short sentence. */
  progress(step: string): void;
  /**
   * The file at the URL, from the store when it is there already. `digest`: `sha256:<hex>` or `sha512:<hex>`.
   * @throws ImageError integrity_error, image_too_large, registry_unavailable, rate_limited, package_not_found (404).
   */
  fetchVerified(url: string, digest: string, options: FetchOptions): Promise<ImageBlob>;
  /**
   * The folder of that name in the store, made by `make` where it is not there; equal names are equal folders, for ever.
   * Its files may be linked to, and never changed.
   */
  kept(name: string, make: (folder: string) => Promise<void>): Promise<ImageBlob>;
  /**
   * A page of a registry. Statuses other than 5xx and 429 are the caller's to judge.
   * @throws ImageError registry_unavailable, rate_limited, image_too_large.
   */
  fetchPage(url: string, options: FetchOptions): Promise<{ status: number; url: string; body: Uint8Array }>;
}

/**
 * Builds one kind of image. Both steps throw ImageError; anything else is recorded as `provider_error`.
 * A step may be given to another process after a crash: all it knows is its arguments.
 */
export interface ImageBuilder {
  readonly runtime: 'isolate' | 'native';
  /** Everything besides the lock that the files depend on: versions, digests of preludes, ABI. Part of the runtime key. */
  runtimeParts(): Promise<{ readonly [name: string]: string }>;
  /** The exact packages of a spec. Needs the registry. */
  resolve(spec: ImageSpec, context: BuildContext): Promise<Lock>;
  /** The files of an image. `spec` names what is importable at the top. */
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
