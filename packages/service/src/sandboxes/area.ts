import { memoryLimiter } from '@heddle/api';
import type { AnyOperation, ApiStore } from '@heddle/api';
import type { ImageSource } from '@heddle/sandbox';
import type { Kysely } from 'kysely';
import { SandboxImages } from './builds.ts';
import type { ImageStore } from './builds.ts';
import { WRITES, sandboxOperations } from './operations.ts';
import type { SandboxTables } from './tables.ts';

/** The parts of the sandboxes of workspaces. */
export interface SandboxOptions {
  /** Opened with `openServiceStore`. */
  store: Pick<ApiStore, 'database'>;
  /** Opens the image store when it is first needed. The caller closes it, before the sandboxes. */
  images: () => Promise<ImageStore>;
  now?: () => number;
  /** Receives errors that reach no caller. */
  onError: (error: unknown) => void;
}

/** The sandboxes of workspaces. */
export interface Sandboxes {
  /** For `createApi`. */
  operations: readonly AnyOperation[];
  /** For the engine: function blocks use the sandboxes of their workspace. */
  images: ImageSource;
  /** Continues the builds that a former process has not finished. */
  recover(): Promise<void>;
  /** Waits for builds that are being stopped. */
  close(): Promise<void>;
}

/** Returns the sandboxes of workspaces: rows in the store, images in the image store. */
export function openSandboxes({ store, images: open, now = Date.now, onError }: SandboxOptions): Sandboxes {
  const db = store.database as Kysely<SandboxTables>;
  const images = new SandboxImages({ db, images: open, report: onError });
  return {
    operations: sandboxOperations({ db, images, budget: memoryLimiter({ operation: WRITES }, now), now }),
    images,
    recover: () => images.recover(),
    close: () => images.close(),
  };
}
