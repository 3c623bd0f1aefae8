import type { Limits } from './limits.ts';

export type UnitKind = 'function' | 'expression' | 'python' | 'shell';

/** What the compiled text of an expression begins with, on the line of the user's first one. */
export const EXPRESSION_START = 'return (';

const LINES_BEFORE = 2;

/** A place in the compiled text as the user counts: lines and columns of the code that was given, from 1. */
export function userPlace(kind: UnitKind, line: number, column: number): { line: number; column: number } {
  if (kind === 'python') return { line, column };
  const before = kind === 'expression' && line === LINES_BEFORE + 1 ? EXPRESSION_START.length : 0;
  return { line: line - LINES_BEFORE, column: Math.max(1, column - before) };
}

/** The file name of user code in stacks; in Python's it ends in `.py`. */
export const USER_FILE = 'heddle-block.js';

/** What the guest runs: functions give one value, expressions are taken in order. */
export type GuestMode = 'function' | 'first-true' | 'values';

/** The packages that a process of JavaScript has: loaded in a snapshot, or to be loaded. */
export type ImageBoot =
  | { readonly kind: 'snapshot'; readonly snapshot: Uint8Array }
  | { readonly kind: 'bundle'; readonly code: string; readonly cache: Uint8Array };

/** Supervisor → process. */
export type Order =
  | {
      readonly t: 'boot';
      readonly snapshot: Uint8Array | null;
      readonly memoryMiB: number;
      /** The packages of an image for the isolate. */
      readonly image?: ImageBoot;
    }
  | {
      readonly t: 'run';
      readonly id: number;
      /** Which isolate: jobs with the same key share one, an empty key takes a fresh one. */
      readonly key: string;
      readonly mode: GuestMode;
      /** Flat, so that it crosses in one array: globals (count, then name, JSON …), units (count, then code, count of values, name, JSON …). */
      readonly args: readonly (string | number)[];
      readonly limits: Limits;
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

/** The order that starts a job. */
export type RunOrder = Extract<Order, { t: 'run' }>;

/** Why a job ended, in the process' words. */
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
  /** A neighbour took the isolate down. */
  | 'LOST';

/** Process → supervisor. */
export type Report =
  | { readonly t: 'ready'; readonly snapshot: Uint8Array | null }
  | {
      readonly t: 'done';
      readonly id: number;
      readonly code: EndCode;
      /** OK: JSON of the result. GUEST_ERROR: JSON of a GuestError. Otherwise a sentence. */
      readonly text: string;
      readonly stdout: string;
      readonly cpuMs: number;
      readonly wallMs: number;
      /** Whether the job came while its context was made. */
      readonly late: boolean;
      /** The job that is entered next, 0 for none. */
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
  /** The job whose guest code runs from now on; sent only while several jobs are in the process. */
  | { readonly t: 'enter'; readonly id: number }
  /** The job's first entry ended without an answer: it waits for a timer or a host call. */
  | { readonly t: 'waiting'; readonly id: number };

/** A guest's request to the host. */
export type HostCall = Extract<Report, { t: 'call' }>;

/** The host's answer to it: JSON, and bytes. */
export type HostAnswer = Pick<Extract<Order, { t: 'answer' }>, 'ok' | 'head' | 'body'>;

/** Why a module could not be loaded: the image has it not, or it is Node's own. */
export type ModuleFault = 'module' | 'builtin';

/** What the guest says about an error; every field is user data. */
export interface GuestError {
  /** `memory`: Python's own error that it has no more of it, which its code did not catch. */
  readonly phase: 'compile' | 'run' | 'result' | 'memory' | ModuleFault;
  readonly index: number;
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  /** What was compiled, where that is not the code as it was given. */
  readonly source?: string;
  /** Added by the process for errors of the compile phase. */
  readonly line?: number;
  readonly column?: number;
}
