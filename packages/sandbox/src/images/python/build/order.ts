/** Supervisor → the process that works on an image, whose packages are the first of its open files. */
export type PythonOrder =
  /** Compile the sources in this archive. */
  | { readonly t: 'compile' }
  /** Load modules as a run does, from the snapshot that is the second open file, if there is one. */
  | {
      readonly t: 'load';
      readonly fromSnapshot: boolean;
      readonly modules: readonly string[];
      readonly cpuMs: number;
    }
  /** Make a snapshot in which these modules are imported, as far as that goes. */
  | {
      readonly t: 'snapshot';
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
  | {
      readonly t: 'snapshot';
      readonly memory: Uint8Array;
      readonly imported: readonly string[];
      /** Those that were left out, with the reason. */
      readonly refused: Readonly<Record<string, string>>;
    }
  | { readonly t: 'limit'; readonly limit: 'time' | 'memory' }
  | { readonly t: 'failed'; readonly message: string };
