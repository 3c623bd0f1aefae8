import type { Callback, ExternalCopy, Isolate } from 'isolated-vm';
import type { RunRequest } from '../protocol.ts';

/** The part of isolated-vm that is used; loaded from the addon file by path. */
export interface IsolatedVm {
  readonly Isolate: typeof Isolate;
  readonly Callback: typeof Callback;
  readonly ExternalCopy: typeof ExternalCopy;
}

export type OnGuestMessage = (message: unknown) => string | number | undefined;

/** The environment of one job's code: a fresh context, or an interpreter. */
export interface Realm {
  /** Handles the guest's messages; set by the job that uses the realm. */
  onGuestMessage: OnGuestMessage;
  /** True if later jobs may use it in the state in which this job leaves it. */
  readonly isShared: boolean;
  /** True if it was made before the job arrived. */
  readonly isPrebuilt: boolean;
  /** True if its isolate is disposed for a reason other than `interrupt`. */
  readonly isDisposed: boolean;
  /** Memory limit of its job, in MiB. */
  readonly memoryMiB: number;
  /** Enters the guest for at most `budgetMs`. */
  enter(invocation: (string | number | boolean)[], budgetMs: number): void;
  /** Ends the running code. Called while the process handles one of its messages. */
  interrupt(): void;
  /** Returns the guest's error with details that only the process knows, such as the position of a syntax error. */
  addErrorDetails(json: string, request: RunRequest): string;
}

/** A job inside an isolate. */
export interface RealmUser {
  /** Called when another job destroyed the isolate. */
  onIsolateDestroyed(): void;
}

/** The realms of one process. */
export interface Realms {
  /** Guest code that is loaded on demand, by name. */
  readonly chunks: ReadonlyMap<string, string>;
  /** Returns a realm for one job. Jobs with the same key may share an isolate or interpreter. */
  lease(user: RealmUser, key: string, memoryMiB: number): Realm;
  /** Ends a job's use of its realm. A tainted realm is not used for another job. */
  endLease(user: RealmUser, realm: Realm, isTainted: boolean): void;
  /** Discards the isolates or interpreters of a key. */
  release(key: string): void;
  /** Prepares a realm for the next job. Called while the process is idle. */
  prepare(): void;
}
