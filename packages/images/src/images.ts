import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ImageSource, type LoadedImage, SandboxError } from '@heddle/sandbox';
import { Blobs } from './blobs.ts';
import type { ImageBuilders, Registries } from './builder.ts';
import { Builds, type ImageClock } from './builds.ts';
import { collectGarbage, type GarbageReport } from './collect-garbage.ts';
import { Fetcher } from './fetcher.ts';
import { specHash } from './keys.ts';
import { isClaimed } from './claim.ts';
import { readRecord, readManifest, type Manifest, type ImageRecord } from './record.ts';
import { ImageIndex, type BuildRow } from './image-index.ts';
import { Runtimes } from './runtimes.ts';
import { ImageLoader } from './image-loader.ts';
import { readSpec, type SpecIssue } from './spec.ts';

export interface ImagesOptions {
  /** Folder of the images and their index; several processes may share it. */
  readonly folder: string;
  readonly builders: ImageBuilders;
  /** Package sources; default: the public registries. */
  readonly registries?: Registries;
  /** Time limit of a build in milliseconds; default 15 minutes. */
  readonly buildTimeoutMs?: number;
  /** Maximum size of all files of an image in MiB; a larger image fails with `image_too_large`. Default 1,024. */
  readonly maxImageMiB?: number;
  /**
   * Time after a failure until a run retries the build, in milliseconds; default 10 minutes. `build` retries
   * immediately.
   */
  readonly retryAfterMs?: number;
  readonly clock?: ImageClock;
}

export interface BuildOptions {
  /** A name for the image. It can be assigned to another specification later. */
  readonly name?: string;
  /**
   * Who needs the image: `ownedBy` lists it, so that the owner can remove it. An image that was also built without this
   * option has no owner.
   */
  readonly owner?: string;
  /** Resolves ranges again even if there is an image. */
  readonly refresh?: boolean;
  /** Called with each build step, as a short phrase. */
  readonly onProgress?: (step: string) => void;
}

/** The images of one folder. */
export interface Images extends ImageSource {
  /**
   * Builds the specification unless its image exists, and returns its record. A failed build returns a record too.
   * @throws SandboxError INVALID_OPTION with `issues` for an invalid specification, IMAGE_NOT_FOUND if the
   * specification is removed in the meantime, and IMAGES_CLOSED if the images are closed before the build ends.
   */
  build(spec: unknown, options?: BuildOptions): Promise<ImageRecord>;
  /** Returns the record with this name, id or unambiguous prefix of an id; undefined if there is none. */
  get(id: string): Promise<ImageRecord | undefined>;
  list(): Promise<ImageRecord[]>;
  /**
   * Returns the log of the last completed build by name, id or unambiguous prefix of an id, without tokens and paths:
   * at most 1,048,576 characters for each runtime that was tried. Undefined if there is no log.
   */
  readLog(id: string): string | undefined;
  /** Returns the ids of the images that only this owner has built (`BuildOptions.owner`). */
  ownedBy(owner: string): string[];
  /**
   * Removes a name, or a specification with its names; a later garbage collection removes the files. Returns whether it
   * existed.
   */
  remove(id: string): boolean;
  /** Removes images that no specification or run has used for a day, and files that belong to no image. */
  collectGarbage(): Promise<GarbageReport>;
  /** Stops the builds of this process, so that other processes can claim them immediately, and closes the index. */
  close(): Promise<void>;
}

/** Thrown for an invalid specification, with all issues and their positions. */
export class SpecError extends SandboxError {
  readonly issues: readonly SpecIssue[];

  constructor(issues: readonly SpecIssue[]) {
    const [firstIssue] = issues;
    const position =
      firstIssue === undefined || firstIssue.line === 0
        ? ''
        : `, line ${firstIssue.line} ("${firstIssue.value}")`;
    const otherIssuesText = issues.length > 1 ? `; ${issues.length - 1} more` : '';
    super(
      'INVALID_OPTION',
      `The image specification is invalid at ${firstIssue?.field}${position}: ${firstIssue?.reason}${otherIssuesText}.`,
    );
    this.issues = issues;
  }
}

const systemClock: ImageClock = {
  now: Date.now,
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/** Default of `maxImageMiB`. */
const DEFAULT_MAX_IMAGE_MIB = 1_024;

/** Minimum length of an id prefix. */
const MIN_ID_PREFIX_CHARS = 7;

class ImageStore implements Images {
  readonly #folder: string;
  readonly #index: ImageIndex;
  readonly #blobs: Blobs;
  readonly #fetcher: Fetcher;
  readonly #runtimes: Runtimes;
  readonly #builds: Builds;
  readonly #loader: ImageLoader;
  readonly #clock: ImageClock;
  readonly #retryAfterMs: number;
  #closePromise: Promise<void> | undefined;

  constructor(options: ImagesOptions) {
    const { registries = {}, clock = systemClock } = options;
    const folder = resolve(options.folder);
    for (const name of ['blobs', 'work']) mkdirSync(join(folder, name), { recursive: true });
    this.#folder = folder;
    this.#clock = clock;
    this.#retryAfterMs = options.retryAfterMs ?? 600_000;
    this.#index = new ImageIndex(join(folder, 'images.db'));
    this.#blobs = new Blobs(folder, this.#index, () => clock.now());
    this.#loader = new ImageLoader(this.#index, this.#blobs, () => clock.now());
    this.#fetcher = new Fetcher(registries);
    this.#runtimes = new Runtimes(options.builders);
    const timeoutMs = options.buildTimeoutMs ?? 900_000;
    const environment = {
      folder,
      registries,
      blobs: this.#blobs,
      fetcher: this.#fetcher,
      now: () => clock.now(),
      timeoutMs,
      maxImageMiB: options.maxImageMiB ?? DEFAULT_MAX_IMAGE_MIB,
      updateMaximum: (name: string, value: number) => this.#index.updateMaximum(name, value),
    };
    this.#builds = new Builds({
      index: this.#index,
      runtimes: this.#runtimes,
      environment,
      clock,
    });
  }

  async build(value: unknown, options: BuildOptions = {}): Promise<ImageRecord> {
    const specResult = readSpec(value);
    if (!specResult.ok) throw new SpecError(specResult.issues);
    const hash = specHash(specResult.spec);
    this.#index.addSpec(hash, specResult.spec, { owner: options.owner, nowMs: this.#clock.now() });
    if (options.name !== undefined) {
      const sql =
        'INSERT INTO names (name, spec_hash) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET spec_hash = excluded.spec_hash';
      this.#index.change(sql, options.name, hash);
    }
    const refresh = options.refresh ?? false;
    try {
      await this.#builds.build(hash, { refresh, onProgress: options.onProgress ?? (() => undefined) });
    } catch (error) {
      if (this.#closePromise === undefined) throw error;
    }
    if (this.#closePromise !== undefined)
      throw new SandboxError('IMAGES_CLOSED', 'The images were closed before the build ended.');
    const record = await this.#recordOf(hash);
    if (record !== undefined) return record;
    const imageLabel = `The image ${options.name ?? hash}`;
    throw new SandboxError('IMAGE_NOT_FOUND', `${imageLabel} was removed while it was being built.`);
  }

  async get(id: string): Promise<ImageRecord | undefined> {
    const hash = this.#specHashOf(id);
    return hash === undefined ? undefined : this.#recordOf(hash);
  }

  async list(): Promise<ImageRecord[]> {
    const records = await Promise.all(this.#index.specHashes().map((hash) => this.#recordOf(hash)));
    return records.filter((record) => record !== undefined);
  }

  readLog(id: string): string | undefined {
    const hash = this.#specHashOf(id);
    return hash === undefined ? undefined : this.#index.findLog(hash);
  }

  ownedBy(owner: string): string[] {
    return this.#index.ownedBy(owner);
  }

  async open(id: string): Promise<LoadedImage> {
    const hash = this.#specHashOf(id);
    if (hash === undefined) {
      const key = readManifest(this.#index, id)?.runtimeKey;
      const isCurrent = key !== undefined && (await this.#runtimes.keys()).includes(key);
      const manifest = isCurrent ? this.#loader.lease(id) : undefined;
      if (manifest === undefined) throw new SandboxError('IMAGE_NOT_FOUND', `There is no image "${id}".`);
      return this.#loader.load(manifest, id);
    }
    return this.#openSpec(hash, id);
  }

  remove(id: string): boolean {
    return this.#index.inTransaction(() => {
      if (this.#index.change('DELETE FROM names WHERE name = ?', id) > 0) return true;
      const hash = this.#specHashOf(id);
      if (hash === undefined) return false;
      this.#index.change('DELETE FROM names WHERE spec_hash = ?', hash);
      // Removes the lock too, so that the same specification is resolved again. A build in progress ends by itself.
      this.#index.change('DELETE FROM builds WHERE spec_hash = ? AND claim IS NULL', hash);
      this.#index.change('DELETE FROM build_logs WHERE spec_hash = ?', hash);
      this.#index.change('DELETE FROM owners WHERE spec_hash = ?', hash);
      return this.#index.change('DELETE FROM specs WHERE spec_hash = ?', hash) > 0;
    });
  }

  async collectGarbage(): Promise<GarbageReport> {
    const store = { folder: this.#folder, index: this.#index, blobs: this.#blobs };
    return collectGarbage(store, await this.#runtimes.keys(), this.#clock.now());
  }

  close(): Promise<void> {
    this.#closePromise ??= this.#closeAll();
    return this.#closePromise;
  }

  async #closeAll(): Promise<void> {
    await this.#builds.close();
    await this.#fetcher.close();
    this.#index.close();
  }

  #specHashOf(id: string): string | undefined {
    const nameRow = this.#index.one('SELECT spec_hash FROM names WHERE name = ?', id);
    if (nameRow !== undefined) return nameRow['spec_hash'] as string;
    if (id.length < MIN_ID_PREFIX_CHARS || !/^[0-9a-f]{7,64}$/.test(id)) return undefined;
    const matches = this.#index.all(
      'SELECT spec_hash FROM specs WHERE spec_hash >= ? AND spec_hash < ?',
      id,
      `${id}g`,
    );
    return matches.length === 1 ? (matches[0] as { spec_hash: string }).spec_hash : undefined;
  }

  /** Loads the image of a specification. Rebuilds the image if its runtime has changed. */
  async #openSpec(hash: string, id: string): Promise<LoadedImage> {
    const firstLease = await this.#leaseBuild(hash);
    // A process with another runtime collected the image before this process leased it.
    const isGone = firstLease.manifest === undefined && firstLease.row?.imageId !== undefined;
    const { row, manifest } = isGone ? await this.#leaseBuild(hash) : firstLease;
    // If a rebuild failed, the previous image is used.
    if (row?.state === 'failed' && row.imageId === undefined)
      throw new SandboxError(
        'IMAGE_FAILED',
        `The image "${id}" could not be built (${row.errorCode}): ${row.errorMessage}`,
      );
    if (row === undefined || manifest === undefined)
      throw new SandboxError(
        'IMAGE_NOT_READY',
        `The image "${id}" is ${row?.state ?? 'pending'}: its build has not ended.`,
      );
    return this.#loader.loadForBuild(row, manifest, id);
  }

  async #leaseBuild(hash: string): Promise<{ row: BuildRow | undefined; manifest: Manifest | undefined }> {
    const row = await this.#rebuildIfDue(hash);
    return { row, manifest: row?.imageId === undefined ? undefined : this.#loader.lease(row.imageId) };
  }

  async #buildRowOf(hash: string): Promise<BuildRow | undefined> {
    const spec = this.#index.findSpec(hash);
    return spec === undefined
      ? undefined
      : this.#index.findBuild(hash, (await this.#runtimes.ofSpec(spec)).key);
  }

  async #recordOf(hash: string): Promise<ImageRecord | undefined> {
    return readRecord(this.#index, hash, await this.#buildRowOf(hash));
  }

  /** Returns the row of the build, after a rebuild if one is due. */
  async #rebuildIfDue(hash: string): Promise<BuildRow | undefined> {
    const row = await this.#buildRowOf(hash);
    if (!this.#needsBuild(hash, row)) return row;
    await this.#builds.build(hash, { refresh: false, onProgress: () => undefined });
    return this.#buildRowOf(hash);
  }

  /**
   * Returns whether opening an image has to build it or wait for its build: if it was built only for another runtime,
   * if its last build failed long enough ago, or if no live process is building it. Opening does not wait for a first
   * build that is in progress.
   */
  #needsBuild(hash: string, row: BuildRow | undefined): boolean {
    if (row !== undefined && (row.imageId !== undefined || row.state === 'ready')) return false;
    const nowMs = this.#clock.now();
    if (row?.state === 'failed') return (row.failedAtMs ?? 0) + this.#retryAfterMs <= nowMs;
    if (this.#index.findSpec(hash)?.lock !== undefined) return true;
    return row === undefined || !isClaimed(this.#index, hash, row.runtimeKey, nowMs);
  }
}

/**
 * Opens the images of a folder; creates the folder if it does not exist. Close them to stop the builds of this process.
 */
export function createImages(options: ImagesOptions): Images {
  return new ImageStore(options);
}
