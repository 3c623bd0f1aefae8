import { isStorable } from '@heddle/engine/stores';
import type { Images, ImageRecord, ImageSpec } from '@heddle/images';
import { isSandboxError, SandboxError } from '@heddle/sandbox';
import type { ImageSource, LoadedImage } from '@heddle/sandbox';
import type { Kysely } from 'kysely';
import { storedSpecOf } from './specification.ts';
import { findSandbox, isImageUsed, findOneSandboxPerImage } from './store.ts';
import type { SandboxRow, SandboxTables } from './tables.ts';

/** The part of the image store that sandboxes use. */
export type ImageStore = Pick<Images, 'build' | 'get' | 'open' | 'ownedBy' | 'remove'>;

interface SandboxImagesOptions {
  db: Kysely<SandboxTables>;
  /** Opens the image store when it is first needed. */
  openImageStore: () => Promise<ImageStore>;
  onError: (error: unknown) => void;
  /** True if blocks wait for the build of their sandbox. */
  waitsForBuilds?: boolean | undefined;
}

/** A queued or running build. */
interface Build {
  spec: ImageSpec;
  /** Resolved when the build has ended or was cancelled. */
  end: PromiseWithResolvers<void>;
}

/** Maximum number of builds that one process runs at the same time. */
const MAX_BUILDS = 2;

/** Error codes of builds that were stopped intentionally. */
const STOPPED_CODES: ReadonlySet<string> = new Set(['IMAGES_CLOSED', 'IMAGE_NOT_FOUND']);

/** The owner of images that were built only for sandboxes. */
const OWNER = 'sandboxes';

/** Matches the id of an image, and prefixes of the id. */
const IMAGE_ID_PATTERN = /^[0-9a-f]{7,64}$/;

/**
 * The images of sandboxes. Sandboxes with the same specification share an image, across workspaces. The image store
 * runs one build of an image at a time, across processes.
 */
export class SandboxImages implements ImageSource {
  readonly #options: SandboxImagesOptions;
  /** Queued builds, by image id. */
  readonly #queuedBuilds = new Map<string, Build>();
  readonly #runningBuilds = new Map<string, Build>();
  #isClosed = false;

  constructor(options: SandboxImagesOptions) {
    this.#options = options;
  }

  /** Returns whether the image store can be opened, and reports why not. */
  async isAvailable(): Promise<boolean> {
    try {
      await this.#options.openImageStore();
      return true;
    } catch (error) {
      this.#options.onError(error);
      return false;
    }
  }

  /** Queues the build of an image unless it is ready or being built. A failed build is repeated. */
  async requestBuild(imageId: string, spec: ImageSpec): Promise<void> {
    if (this.#hasBuild(imageId)) return;
    const record = await (await this.#options.openImageStore()).get(imageId);
    if (record?.state === 'ready' || this.#isClosed || this.#hasBuild(imageId)) return;
    this.#queuedBuilds.set(imageId, { spec, end: Promise.withResolvers() });
    this.#startNextBuilds();
  }

  #hasBuild(imageId: string): boolean {
    return this.#runningBuilds.has(imageId) || this.#queuedBuilds.has(imageId);
  }

  /** Queues again the builds that an earlier process has not finished. */
  async requeueBuilds(): Promise<void> {
    const rows = await findOneSandboxPerImage(this.#options.db);
    if (rows.length === 0) return;
    const images = await this.#options.openImageStore();
    for (const row of rows) {
      const imageId = row.image_id as string;
      const state = (await images.get(imageId))?.state ?? 'pending';
      if (state === 'pending' || state === 'building') await this.requestBuild(imageId, storedSpecOf(row));
    }
  }

  /** Returns the record of an image; undefined if there is none, or while a build is queued. */
  async describe(imageId: string): Promise<ImageRecord | undefined> {
    if (this.#queuedBuilds.has(imageId)) return undefined;
    const record = (await (await this.#options.openImageStore()).get(imageId)) ?? undefined;
    // Until a repeated build begins, the record has the outcome of the previous build.
    return record?.state === 'failed' && this.#hasBuild(imageId) ? undefined : record;
  }

  /**
   * Removes the image of a sandbox that was changed or deleted, and cancels its queued build, unless another sandbox
   * uses it. An image that the operator has built too, or that is being built, is kept.
   */
  async release(imageId: string): Promise<void> {
    if (await isImageUsed(this.#options.db, imageId)) return;
    this.#cancelQueuedBuild(imageId);
    const images = await this.#options.openImageStore();
    const record = await images.get(imageId);
    if (record?.state !== 'building' && images.ownedBy(OWNER).includes(imageId)) images.remove(imageId);
  }

  /**
   * Releases the images that were built for sandboxes and that no sandbox uses any more: another process with its own
   * images has changed or deleted the sandboxes, or the image was being built at that time.
   */
  async releaseUnused(): Promise<void> {
    for (const imageId of (await this.#options.openImageStore()).ownedBy(OWNER)) await this.release(imageId);
  }

  /**
   * Returns the image of a sandbox of the workspace, or an image to which the operator gave the name `id`. Other images
   * are not found: their ids would reveal the packages of other workspaces. Without `workspaceId`, opens any image.
   */
  async open(id: string, workspaceId?: string): Promise<LoadedImage> {
    const { db } = this.#options;
    if (workspaceId === undefined) return (await this.#options.openImageStore()).open(id);
    const row = isStorable(id) ? await findSandbox(db, { id, workspaceId }) : undefined;
    if (row) return this.#openSandbox(row);
    if (IMAGE_ID_PATTERN.test(id)) throw sandboxNotFound(id);
    try {
      return await (await this.#options.openImageStore()).open(id);
    } catch (error) {
      throw isSandboxError(error) && error.code === 'IMAGE_NOT_FOUND' ? sandboxNotFound(id) : error;
    }
  }

  async #openSandbox(row: SandboxRow): Promise<LoadedImage> {
    const { name, image_id: imageId } = row;
    const subject = `The sandbox ${JSON.stringify(name)}`;
    if (imageId === null)
      throw new SandboxError('IMAGE_NOT_FOUND', `${subject} has no packages: remove it from the block.`);
    const images = await this.#options.openImageStore();
    let record = await this.describe(imageId);
    if (this.#options.waitsForBuilds && (!record || (record.imageId === null && record.state !== 'failed'))) {
      await this.#waitForBuild(imageId, storedSpecOf(row));
      record = await this.describe(imageId);
    }
    if (record?.state === 'failed' && record.imageId === null) {
      // The image store repeats a failed build after some time. Runs do not wait for it.
      const { errorCode, errorMessage } = record;
      throw new SandboxError(
        'IMAGE_FAILED',
        `${subject} could not be built (${errorCode}): ${errorMessage} Save it again to repeat the build.`,
      );
    }
    if (!record || record.imageId === null) {
      await this.requestBuild(imageId, storedSpecOf(row));
      throw new SandboxError(
        'IMAGE_NOT_READY',
        `${subject} is being built. Try again when its build has ended.`,
      );
    }
    return images.open(imageId);
  }

  /** Resolves when the build of an image has ended. */
  async #waitForBuild(imageId: string, spec: ImageSpec): Promise<void> {
    await this.requestBuild(imageId, spec);
    await (this.#runningBuilds.get(imageId) ?? this.#queuedBuilds.get(imageId))?.end.promise;
  }

  #startNextBuilds(): void {
    for (const [imageId, build] of this.#queuedBuilds) {
      if (this.#isClosed || this.#runningBuilds.size >= MAX_BUILDS) return;
      this.#queuedBuilds.delete(imageId);
      this.#runningBuilds.set(imageId, build);
      void this.#build(build.spec).finally(() => {
        this.#runningBuilds.delete(imageId);
        build.end.resolve();
        this.#startNextBuilds();
      });
    }
  }

  #cancelQueuedBuild(imageId: string): void {
    this.#queuedBuilds.get(imageId)?.end.resolve();
    this.#queuedBuilds.delete(imageId);
  }

  async #build(spec: ImageSpec): Promise<void> {
    try {
      // A failure of the build itself is in the record.
      await (await this.#options.openImageStore()).build(spec, { owner: OWNER });
    } catch (error) {
      // The image store was closed, or the image was released in the meantime.
      if (isSandboxError(error) && STOPPED_CODES.has(error.code)) return;
      this.#options.onError(error);
    }
  }

  /** Starts no more builds and waits for the running ones. Close the image store first: it stops them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const imageId of [...this.#queuedBuilds.keys()]) this.#cancelQueuedBuild(imageId);
    await Promise.all([...this.#runningBuilds.values()].map(({ end }) => end.promise));
  }
}

function sandboxNotFound(id: string): SandboxError {
  return new SandboxError('IMAGE_NOT_FOUND', `There is no sandbox "${id}" in this workspace.`);
}
