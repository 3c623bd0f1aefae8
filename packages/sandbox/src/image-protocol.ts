/** A report of a process that loads packages, as one flat message: the channel takes no others. */
interface FlatReport {
  /** Everything but the bytes, as JSON. */
  readonly json: string;
  /** Which field the bytes are; '' where there are none. */
  readonly field: string;
  readonly bytes: Uint8Array;
}

/** More than any honest report has. */
const MOST_CHARS = 16 * 2 ** 20;

/** Returns a report as a flat message; one of its fields may be bytes. */
export function flatten(report: object): FlatReport {
  const [field = '', bytes = new Uint8Array()] =
    Object.entries(report).find(([, value]) => value instanceof Uint8Array) ?? [];
  const rest = Object.fromEntries(Object.entries(report).filter(([name]) => name !== field));
  return { json: JSON.stringify(rest), field: field as string, bytes: bytes as Uint8Array };
}

/** Returns the report in a message, or null if it is none: a process that packages have taken over may send anything. */
export function readReport(message: unknown): object | null {
  const { json, field, bytes } = (message ?? {}) as Partial<FlatReport>;
  if (typeof json !== 'string' || json.length > MOST_CHARS) return null;
  if (typeof field !== 'string' || !(bytes instanceof Uint8Array)) return null;
  try {
    const rest: unknown = JSON.parse(json);
    if (typeof rest !== 'object' || rest === null) return null;
    return field === '' ? rest : { ...rest, [field]: bytes };
  } catch {
    return null;
  }
}

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

/** How loading a bundle ended. */
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

/** How an order about Python packages ended. */
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
