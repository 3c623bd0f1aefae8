/** A report of a process that loads packages, as one flat message: the channel accepts no other kind. */
interface FlatReport {
  /** Everything except the bytes, as JSON. */
  readonly json: string;
  /** Name of the field that holds the bytes; '' if there is none. */
  readonly field: string;
  readonly bytes: Uint8Array;
}

/** Maximum length of a report as JSON; no legitimate report is that long. */
const MAX_CHARS = 16 * 2 ** 20;

/** Returns a report as a flat message. At most one of its fields may hold bytes. */
export function flattenReport(report: object): FlatReport {
  const [field = '', bytes = new Uint8Array()] =
    Object.entries(report).find(([, value]) => value instanceof Uint8Array) ?? [];
  const otherFields = Object.fromEntries(Object.entries(report).filter(([name]) => name !== field));
  return { json: JSON.stringify(otherFields), field: field as string, bytes: bytes as Uint8Array };
}

/**
 * Returns the report in a message, or undefined if the message is malformed. A process taken over by a package may send
 * anything.
 */
export function readReport(message: unknown): object | undefined {
  const { json, field, bytes } = (message ?? {}) as Partial<FlatReport>;
  if (typeof json !== 'string' || json.length > MAX_CHARS) return undefined;
  if (typeof field !== 'string' || !(bytes instanceof Uint8Array)) return undefined;
  try {
    const otherFields: unknown = JSON.parse(json);
    if (typeof otherFields !== 'object' || otherFields === null) return undefined;
    return field === '' ? otherFields : { ...otherFields, [field]: bytes };
  } catch {
    return undefined;
  }
}

/** Supervisor → process that makes an image: load this bundle within these limits. */
export interface ImageRequest {
  readonly code: string;
  readonly modules: readonly string[];
  readonly cpuMs: number;
  readonly memoryMiB: number;
  /** True to try a snapshot; false after a snapshot crashed the process. */
  readonly snapshot: boolean;
}

/** A module that failed to load. */
export interface ModuleFailure {
  readonly module: string;
  /** True if it requires a Node.js builtin that the sandbox does not provide. */
  readonly builtin: boolean;
  readonly message: string;
  readonly stack: string;
}

/** The result of loading a bundle. */
export type ImageReport =
  /** The process begins to make the snapshot, which may crash it. */
  | { readonly t: 'snapshot' }
  | {
      readonly t: 'made';
      readonly kind: 'snapshot' | 'cache';
      readonly data: Uint8Array;
      /** Why there is no snapshot, as the end of a sentence; '' for a snapshot. */
      readonly why: string;
    }
  | { readonly t: 'failed'; readonly modules: readonly ModuleFailure[] }
  | { readonly t: 'limit'; readonly limit: 'time' | 'memory' };

/** Supervisor → process that works on the packages of an image, which are in the first open file. */
export type PythonRequest =
  /** Compile the sources in this archive. */
  | { readonly t: 'compile' }
  /** Load modules as a run does; with `fromSnapshot`, from the snapshot in the second open file. */
  | {
      readonly t: 'load';
      readonly fromSnapshot: boolean;
      readonly modules: readonly string[];
      readonly cpuMs: number;
    }
  /** Make a snapshot with as many of these modules imported as possible. */
  | {
      readonly t: 'snapshot';
      readonly modules: readonly string[];
      readonly cpuMs: number;
    };

/** A module that failed to load. */
export interface PythonModuleFailure {
  readonly module: string;
  /** Exception type and message. */
  readonly message: string;
  readonly stack: string;
}

/** The result of a request about Python packages. */
export type PythonReport =
  /** An archive of compiled files, and the paths of sources that could not be compiled. */
  | { readonly t: 'compiled'; readonly archive: Uint8Array; readonly uncompiled: readonly string[] }
  /** All loaded modules, in load order. */
  | {
      readonly t: 'loaded';
      readonly order: readonly string[];
      readonly failed: readonly PythonModuleFailure[];
    }
  | {
      readonly t: 'snapshot';
      readonly memory: Uint8Array;
      readonly imported: readonly string[];
      /** Modules that are not in the snapshot, with the reason for each. */
      readonly refused: Readonly<Record<string, string>>;
    }
  | { readonly t: 'limit'; readonly limit: 'time' | 'memory' }
  | { readonly t: 'failed'; readonly message: string };
