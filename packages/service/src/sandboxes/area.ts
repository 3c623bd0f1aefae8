import { memoryLimiter } from '@heddle/api';
import type { Area } from '@heddle/api';
import type { ImageSource } from '@heddle/sandbox';
import type { Kysely } from 'kysely';
import { SandboxImages } from './builds.ts';
import type { ImageStore } from './builds.ts';
import type { ServiceStore } from '../store/open.ts';
import { SANDBOX_MIGRATIONS } from './migrations.ts';
import {
  WRITE_LIMIT,
  createSandbox,
  deleteSandbox,
  getSandbox,
  listSandboxes,
  updateSandbox,
} from './operations.ts';
import type { SandboxServices } from './operations.ts';
import type { SandboxTables } from './tables.ts';

export const SANDBOX_OPERATIONS = {
  listSandboxes,
  createSandbox,
  getSandbox,
  updateSandbox,
  deleteSandbox,
} as const;

/** The options of the sandboxes of workspaces. */
export interface SandboxAreaOptions {
  store: Pick<ServiceStore, 'database'>;
  /** Opens the image store when it is first needed. The caller closes it, before the sandboxes. */
  openImageStore: () => Promise<ImageStore>;
  /** Receives errors that reach no caller. */
  onError: (error: unknown) => void;
  /** True if blocks wait for the build of their sandbox within their timeout. Default: they fail until it has ended. */
  waitsForBuilds?: boolean;
}

/** The sandboxes of workspaces. */
export interface Sandboxes {
  /** The module of API operations with the table of sandboxes. */
  area: Area<SandboxServices, typeof SANDBOX_OPERATIONS>;
  /** For the engine: function blocks use the sandboxes of their workspace. */
  images: ImageSource;
  /**
   * Removes the images of sandboxes that were changed or deleted by another process, which has its own image store.
   * Call it before each garbage collection of the image store.
   */
  releaseUnused(): Promise<void>;
  /** Resolves when the running builds have stopped. Close the image store first: that stops them. */
  close(): Promise<void>;
}

/** Opens the sandboxes of workspaces. Their rows are in the store, and their images in the image store. */
export function openSandboxes({
  store,
  openImageStore,
  onError,
  waitsForBuilds,
}: SandboxAreaOptions): Sandboxes {
  const db = store.database as Kysely<SandboxTables>;
  const images = new SandboxImages({ db, openImageStore, onError, waitsForBuilds });
  return {
    area: {
      name: 'sandboxes',
      operations: SANDBOX_OPERATIONS,
      migrations: SANDBOX_MIGRATIONS,
      services({ now, onError }) {
        // Queues again the builds that an earlier process has not finished.
        images.requeueBuilds().catch(onError);
        return { db, images, writeLimiter: memoryLimiter({ operation: WRITE_LIMIT }, now), now };
      },
    },
    images,
    releaseUnused: () => images.releaseUnused(),
    close: () => images.close(),
  };
}
