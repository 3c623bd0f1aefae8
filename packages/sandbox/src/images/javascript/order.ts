/** Supervisor → the process that makes an image: load this bundle, within these limits. */
export interface ImageOrder {
  readonly code: string;
  readonly modules: readonly string[];
  readonly cpuMs: number;
  readonly memoryMiB: number;
  /** Whether a snapshot is tried: not again where one took the process down. */
  readonly snapshot: boolean;
}

/** A module that could not be loaded. */
export interface ModuleFailure {
  readonly module: string;
  /** Whether it asked for a builtin of Node.js that the sandbox has not. */
  readonly builtin: boolean;
  readonly message: string;
  readonly stack: string;
}

/** What came of it. */
export type ImageReport =
  /** From here on the process may die of a snapshot. */
  | { readonly t: 'snapshot' }
  | {
      readonly t: 'made';
      readonly kind: 'snapshot' | 'cache';
      readonly data: Uint8Array;
      readonly why: string;
    }
  | { readonly t: 'failed'; readonly modules: readonly ModuleFailure[] }
  | { readonly t: 'limit'; readonly limit: 'time' | 'memory' };
