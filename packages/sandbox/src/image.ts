/** A file (or, for `rootfs`, a folder) of an image, its digest verified. */
export interface ImageBlob {
  /** Absolute. */
  readonly path: string;
  /** Hexadecimal. Of a folder: of its manifest. */
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
}

/** What an image offers to those who run code with it. */
export interface ImageFeatures {
  /** Whether a V8 startup snapshot or a Python memory snapshot is among the blobs. */
  readonly snapshot?: boolean;
  /** Whether processes need V8's compiler for it. */
  readonly jit?: boolean;
  /** What user code can import, in the order of the spec. */
  readonly modules: readonly string[];
}

/** An image that is ready. */
export interface LoadedImage {
  /** The image's key: equal ids are equal images, for ever. */
  readonly id: string;
  readonly language: 'javascript' | 'python';
  /** In the isolate, or as a process of its own in a root file system. */
  readonly runtime: 'isolate' | 'native';
  /**
   * By name. JavaScript: `bundle.js`, and `snapshot.bin` or `code-cache.bin`; Python: `site.zip`, `memory.snap`,
   * `native.json` and `native/*.so`; native: `rootfs`.
   */
  readonly blobs: { readonly [name: string]: ImageBlob };
  readonly features: ImageFeatures;
}

/** Where a sandbox finds the images that its jobs name. */
export interface ImageSource {
  /**
   * The image with the id. Digests are verified once per process, and when files changed.
   * @throws SandboxError IMAGE_NOT_READY, IMAGE_FAILED.
   */
  open(id: string): Promise<LoadedImage>;
}
