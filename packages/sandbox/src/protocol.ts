import type { JobLimits } from './limits.ts';

/** The kind of a job's units. A unit is a piece of its code: the function, or one of the expressions. */
export type UnitKind = 'function' | 'expression' | 'python' | 'shell';

/** Beginning of the compiled text of an expression, on the same line as the user's first line. */
export const EXPRESSION_START = 'return (';

/** Number of lines of the compiled text before the user's first line. */
const PREFIX_LINES = 2;

/** Converts a position in the compiled text to one in the user's code. Lines and columns start at 1. */
export function userPosition(kind: UnitKind, line: number, column: number): { line: number; column: number } {
  if (kind === 'python') return { line, column };
  const prefixChars = kind === 'expression' && line === PREFIX_LINES + 1 ? EXPRESSION_START.length : 0;
  return { line: line - PREFIX_LINES, column: Math.max(1, column - prefixChars) };
}

/** File name of user code in stack traces; for Python it ends in `.py`. */
export const USER_FILE = 'heddle-block.js';

/**
 * `function`: runs a function, which returns one value. `first-true`: evaluates expressions in order up to the first
 * truthy one. `values`: evaluates all expressions in order.
 */
export type GuestMode = 'function' | 'first-true' | 'values';

/** How a JavaScript process gets its packages: in a snapshot, or as a bundle to load. */
export type StartupPackages =
  | { readonly kind: 'snapshot'; readonly snapshot: Uint8Array }
  | { readonly kind: 'bundle'; readonly code: string; readonly cache: Uint8Array };

/** Supervisor → process. */
export type ChildRequest =
  | {
      readonly t: 'boot';
      readonly snapshot: Uint8Array | null;
      readonly memoryMiB: number;
      /** The image's packages, for the isolate. */
      readonly image?: StartupPackages;
    }
  | {
      readonly t: 'run';
      readonly id: number;
      /** Selects the isolate: jobs with the same key share one; an empty key gets a new one. */
      readonly key: string;
      readonly mode: GuestMode;
      /**
       * Flat, so that it is sent as one array: globals (count, then name, JSON …), units (count, then code, count of
       * values, name, JSON …).
       */
      readonly args: readonly (string | number)[];
      readonly limits: JobLimits;
    }
  | {
      readonly t: 'answer';
      readonly id: number;
      readonly call: number;
      readonly ok: boolean;
      readonly head: string;
      readonly body: Uint8Array | null;
    }
  | { readonly t: 'cancel'; readonly id: number }
  | { readonly t: 'release'; readonly key: string };

/** The request that starts a job. */
export type RunRequest = Extract<ChildRequest, { t: 'run' }>;

/** Why a job ended, as the process reports it. */
export type EndCode =
  | 'OK'
  | 'GUEST_ERROR'
  | 'RESULT_TOO_LARGE'
  | 'TIMEOUT_CPU'
  | 'TIMEOUT_WALL'
  | 'OUT_OF_MEMORY'
  | 'BRIDGE_LIMIT'
  | 'PROTOCOL'
  | 'CANCELLED'
  /** Another job destroyed the shared isolate. */
  | 'LOST';

/** Process → supervisor. */
export type ChildMessage =
  | { readonly t: 'ready'; readonly snapshot: Uint8Array | null }
  | {
      readonly t: 'done';
      readonly id: number;
      readonly code: EndCode;
      /** OK: the result as JSON. GUEST_ERROR: a GuestError as JSON. Otherwise a sentence. */
      readonly text: string;
      readonly stdout: string;
      readonly cpuMs: number;
      readonly wallMs: number;
      /** True if the job had to wait for its context. */
      readonly waitedForContext: boolean;
      /** The next job to be entered; 0 if there is none. */
      readonly next: number;
      readonly rssMiB: number;
    }
  | {
      readonly t: 'call';
      readonly id: number;
      readonly call: number;
      readonly op: string;
      readonly head: string;
      readonly body: Uint8Array | null;
    }
  /** This job's code runs from now on. Sent only while the process holds several jobs. */
  | { readonly t: 'enter'; readonly id: number }
  /** The job's code has run and is not done: it waits for a timer or a host call. */
  | { readonly t: 'waiting'; readonly id: number };

/** A guest's request to the host: the operation, its arguments as JSON (`head`), and bytes (`body`). */
export type HostCall = Extract<ChildMessage, { t: 'call' }>;

/** The host's answer to a call: JSON (`head`) and bytes (`body`). */
export type HostResponse = Pick<Extract<ChildRequest, { t: 'answer' }>, 'ok' | 'head' | 'body'>;

/** Why a module could not be loaded: it is not in the image, or it is a Node.js builtin. */
export type MissingModuleKind = 'module' | 'builtin';

/** A guest's description of an error. Every field is user data. */
export interface GuestError {
  /** `memory`: an uncaught MemoryError of Python. */
  readonly phase: 'compile' | 'run' | 'result' | 'memory' | MissingModuleKind;
  /** Number of the unit, from 0; -1 if the error has none. */
  readonly index: number;
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  /** The compiled text, if it differs from the given code. */
  readonly source?: string;
  /** Added by the process for errors of the compile phase. */
  readonly line?: number;
  readonly column?: number;
}
