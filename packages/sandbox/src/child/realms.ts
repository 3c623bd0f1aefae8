import type { Callback, ExternalCopy, Isolate } from 'isolated-vm';
import type { RunRequest } from '../protocol.ts';

/** The part of isolated-vm that is used, loaded from the addon file by its path. */
export interface IsolatedVm {
  readonly Isolate: typeof Isolate;
  readonly Callback: typeof Callback;
  readonly ExternalCopy: typeof ExternalCopy;
}

export type Post = (message: unknown) => string | number | undefined;

/** Where one job's code runs. */
export interface Realm {
  /** Takes the guest's messages; set by the job that uses the realm. */
  post: Post;
  /** Whether later jobs may find it as this one leaves it. */
  readonly isShared: boolean;
  /** Whether it was made ahead of the job. */
  readonly isAhead: boolean;
  /** Whether its isolate is gone. */
  readonly isGone: boolean;
  /** The memory that its job has, in MiB. */
  readonly memoryMiB: number;
  /** Enters the guest for at most `budgetMs`. */
  enter(entry: (string | number | boolean)[], budgetMs: number): void;
  /** Ends the code that has the thread now, from inside one of its messages. */
  interrupt(): void;
  /** The guest's error with the place of a fault that only the compiler knows. */
  locate(json: string, order: RunRequest): string;
}

/** A job inside an isolate. */
export interface RealmUser {
  /** The isolate is gone through no act of this job. */
  lost(): void;
}

/** The realms of one process. */
export interface Realms {
  /** Code of the guest that is not there before it is asked for, by name. */
  readonly parts: ReadonlyMap<string, string>;
  /** A realm for one job; jobs with the same key may share what is below it. */
  lease(user: RealmUser, key: string, memoryMiB: number): Realm;
  /** Ends a job's use of its realm. */
  giveBack(user: RealmUser, realm: Realm, tainted: boolean): void;
  /** Drops what is kept for a key. */
  release(key: string): void;
  /** Builds what the next job needs; called when nothing else is to do. */
  prepare(): void;
}
