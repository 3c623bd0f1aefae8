/** Supervisor → the process that works on an image. Files are named by paths that the process may read. */
export type PythonOrder =
  /** Compile the sources in this archive. */
  | { readonly t: 'compile'; readonly site: string }
  /** Load modules as a run does. */
  | {
      readonly t: 'load';
      readonly site: string;
      readonly snapshot: string | null;
      readonly modules: readonly string[];
      readonly cpuMs: number;
    }
  /** Make a snapshot in which these modules are imported, as far as that goes. */
  | {
      readonly t: 'snapshot';
      readonly site: string;
      readonly modules: readonly string[];
      readonly cpuMs: number;
    };

/** A module that could not be loaded. */
export interface PythonModuleFailure {
  readonly module: string;
  /** Type and text of the exception. */
  readonly message: string;
  readonly stack: string;
}

/** What came of it. */
export type PythonReport =
  /** An archive of compiled files, and the paths of sources that stay sources. */
  | { readonly t: 'compiled'; readonly archive: Uint8Array; readonly uncompiled: readonly string[] }
  /** Everything that was loaded, in order. */
  | {
      readonly t: 'loaded';
      readonly order: readonly string[];
      readonly failed: readonly PythonModuleFailure[];
    }
  | { readonly t: 'snapshot'; readonly memory: Uint8Array; readonly imported: readonly string[] }
  | { readonly t: 'limit'; readonly limit: 'time' | 'memory' }
  | { readonly t: 'failed'; readonly message: string };
