/** A file (for `rootfs`: a folder) of an image, with its digest verified. */
export interface ImageBlob {
  /** Absolute path. */
  readonly path: string;
  /** Hexadecimal. For a folder: the digest of its manifest. */
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
}

/** The properties of an image, and the modules that it provides to code. */
export interface ImageFeatures {
  /** True if the blobs contain a V8 startup snapshot or a Python memory snapshot. */
  readonly snapshot?: boolean;
  /** True if processes need V8's compiler for this image. */
  readonly jit?: boolean;
  /** Modules that user code can import, in the order of the specification. */
  readonly modules: readonly string[];
}

/** An image that is ready for use. */
export interface LoadedImage {
  /** The image's key. Images with equal ids are equal and never change. */
  readonly id: string;
  readonly language: 'javascript' | 'python';
  /** Runs in a V8 isolate, or as a separate process in a root file system. */
  readonly runtime: 'isolate' | 'native';
  /**
   * By name. JavaScript: `bundle.js`, and `snapshot.bin` or `code-cache.bin`; Python: `site.zip`, `memory.snap`,
   * `native.json` and `native/*.so`; native: `rootfs`.
   */
  readonly blobs: { readonly [name: string]: ImageBlob };
  readonly features: ImageFeatures;
}

/** Provides the images that jobs name. */
export interface ImageSource {
  /**
   * Returns the image with this id, if code of `tenant` may use it. Digests are verified once per process, and again
   * after a file changed.
   * @throws SandboxError IMAGE_NOT_FOUND, IMAGE_NOT_READY, IMAGE_FAILED.
   */
  open(id: string, tenant?: string): Promise<LoadedImage>;
}
