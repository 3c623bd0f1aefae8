import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../error.ts';
import { Blobs } from './blobs.ts';
import type { ImageBuilders, Registries } from './builder.ts';
import { Builds, type ImageClock } from './builds.ts';
import { collect, type Collected } from './collect.ts';
import { Fetcher } from './fetcher.ts';
import { specHash } from './keys.ts';
import { isTaken } from './claim.ts';
import type { Manifest } from './manifest.ts';
import { describeRecord, readManifest, type ImageRecord } from './record.ts';
import { Records, type BuildRow } from './records.ts';
import { Runtimes } from './runtimes.ts';
import { Shelf } from './shelf.ts';
import type { ImageSource, LoadedImage } from './source.ts';
import { readSpec, type SpecIssue } from './spec.ts';

export interface ImagesOptions {
  /** Where images and their index are kept; several processes may share it. */
  readonly folder: string;
  readonly builders: ImageBuilders;
  /** Where packages come from; default: the public registries. */
  readonly registries?: Registries;
  /** A build that takes longer fails, in milliseconds; default 15 minutes. */
  readonly buildTimeoutMs?: number;
  /** An image whose files have more together fails with `image_too_large`, in MiB; default 1,024. */
  readonly maxImageMiB?: number;
  /** How long after a failure a run may start the build again, in milliseconds; default 10 minutes. `build` may at once. */
  readonly retryAfterMs?: number;
  readonly clock?: ImageClock;
}

export interface BuildOptions {
  /** A name under which the image is found; it may be given to another spec later. */
  readonly name?: string;
  /** Resolves ranges anew, though there is an image. */
  readonly refresh?: boolean;
  /** Told what is being done, in short sentences. */
  readonly onProgress?: (step: string) => void;
}

/** The images of one folder. */
export interface Images extends ImageSource {
  /**
   * The record of the spec once it is built, or failed: a failed build is data.
   * @throws SandboxError INVALID_OPTION with `issues` for a spec that is none, IMAGE_NOT_FOUND when the spec is removed and
   * IMAGES_CLOSED when the images are closed before the build has ended.
   */
  build(spec: unknown, options?: BuildOptions): Promise<ImageRecord>;
  /** The record with the name, the id, or an unambiguous beginning of it. */
  get(id: string): Promise<ImageRecord | null>;
  list(): Promise<ImageRecord[]>;
  /** Forgets a name, or a spec with its names; files go with the next collection. Whether there was one. */
  remove(id: string): boolean;
  /** Removes what no spec and no run has named for a day. */
  collect(): Promise<Collected>;
  /** Breaks off the builds of this process, which can be begun again at once, and closes the index. */
  close(): Promise<void>;
}

/** Thrown for a spec with faults: all of them, each addressed to its entry. */
export class SpecError extends SandboxError {
  readonly issues: readonly SpecIssue[];

  constructor(issues: readonly SpecIssue[]) {
    const [first] = issues;
    const place = first === undefined || first.line === 0 ? '' : `, line ${first.line} ("${first.value}")`;
    const more = issues.length > 1 ? `; ${issues.length - 1} more` : '';
    super(
      'INVALID_OPTION',
      `The spec of the image is wrong at ${first?.field}${place}: ${first?.reason}${more}.`,
    );
    this.issues = issues;
  }
}

const systemClock: ImageClock = {
  now: Date.now,
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/** All files of an image together, in MiB. */
const DEFAULT_IMAGE_MIB = 1_024;

/** Characters of an id that tell it from others. */
const SHORTEST_ID = 7;

class ImageStore implements Images {
  readonly #folder: string;
  readonly #records: Records;
  readonly #blobs: Blobs;
  readonly #fetcher: Fetcher;
  readonly #runtimes: Runtimes;
  readonly #builds: Builds;
  readonly #shelf: Shelf;
  readonly #clock: ImageClock;
  readonly #retryAfterMs: number;
  #closed: Promise<void> | undefined;

  constructor(options: ImagesOptions) {
    const { registries = {}, clock = systemClock } = options;
    const folder = resolve(options.folder);
    for (const name of ['blobs', 'work']) mkdirSync(join(folder, name), { recursive: true });
    this.#folder = folder;
    this.#clock = clock;
    this.#retryAfterMs = options.retryAfterMs ?? 600_000;
    this.#records = new Records(join(folder, 'images.db'));
    this.#blobs = new Blobs(folder, this.#records, () => clock.now());
    this.#shelf = new Shelf(this.#records, this.#blobs, () => clock.now());
    this.#fetcher = new Fetcher(registries);
    this.#runtimes = new Runtimes(options.builders);
    const workshop = {
      folder,
      registries,
      blobs: this.#blobs,
      fetcher: this.#fetcher,
      now: () => clock.now(),
      maxImageMiB: options.maxImageMiB ?? DEFAULT_IMAGE_MIB,
      largest: (name: string, value: number) => this.#records.largest(name, value),
    };
    const timeoutMs = options.buildTimeoutMs ?? 900_000;
    this.#builds = new Builds({
      records: this.#records,
      runtimes: this.#runtimes,
      workshop,
      clock,
      timeoutMs,
    });
  }

  async build(value: unknown, options: BuildOptions = {}): Promise<ImageRecord> {
    const read = readSpec(value);
    if (!read.ok) throw new SpecError(read.issues);
    const hash = specHash(read.spec);
    const nowMs = this.#clock.now();
    this.#records.change(
      'INSERT INTO specs (spec_hash, spec, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      hash,
      JSON.stringify(read.spec),
      nowMs,
    );
    if (options.name !== undefined) {
      const sql =
        'INSERT INTO names (name, spec_hash) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET spec_hash = excluded.spec_hash';
      this.#records.change(sql, options.name, hash);
    }
    const refresh = options.refresh ?? false;
    try {
      await this.#builds.build(hash, { refresh, progress: options.onProgress ?? (() => undefined) });
    } catch (error) {
      if (this.#closed === undefined) throw error;
    }
    if (this.#closed !== undefined)
      throw new SandboxError('IMAGES_CLOSED', 'The images were closed before the build had ended.');
    const record = await this.#describe(hash);
    if (record !== null) return record;
    const what = `The image ${options.name ?? hash}`;
    throw new SandboxError('IMAGE_NOT_FOUND', `${what} was removed while it was being built.`);
  }

  async get(id: string): Promise<ImageRecord | null> {
    const hash = this.#specOf(id);
    return hash === null ? null : this.#describe(hash);
  }

  async list(): Promise<ImageRecord[]> {
    const all = await Promise.all(this.#records.specHashes().map((hash) => this.#describe(hash)));
    return all.filter((record) => record !== null);
  }

  async open(id: string): Promise<LoadedImage> {
    const hash = this.#specOf(id);
    if (hash === null) {
      const key = readManifest(this.#records, id)?.runtimeKey;
      const fits = key !== undefined && (await this.#runtimes.keys()).includes(key);
      const manifest = fits ? this.#shelf.take(id) : null;
      if (manifest === null) throw new SandboxError('IMAGE_NOT_FOUND', `There is no image "${id}".`);
      return this.#shelf.load(manifest, id);
    }
    return this.#openSpec(hash, id);
  }

  remove(id: string): boolean {
    return this.#records.atomically(() => {
      if (this.#records.change('DELETE FROM names WHERE name = ?', id) > 0) return true;
      const hash = this.#specOf(id);
      if (hash === null) return false;
      this.#records.change('DELETE FROM names WHERE spec_hash = ?', hash);
      // Its lock goes with it: whoever asks for the same again gets an image that can be made anew. Who builds it ends that.
      this.#records.change('DELETE FROM builds WHERE spec_hash = ? AND claim IS NULL', hash);
      return this.#records.change('DELETE FROM specs WHERE spec_hash = ?', hash) > 0;
    });
  }

  async collect(): Promise<Collected> {
    const store = { folder: this.#folder, records: this.#records, blobs: this.#blobs };
    return collect(store, await this.#runtimes.keys(), this.#clock.now());
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    await this.#builds.close();
    await this.#fetcher.close();
    this.#records.close();
  }

  #specOf(id: string): string | null {
    const named = this.#records.one('SELECT spec_hash FROM names WHERE name = ?', id);
    if (named !== undefined) return named['spec_hash'] as string;
    if (id.length < SHORTEST_ID || !/^[0-9a-f]{7,64}$/.test(id)) return null;
    const like = this.#records.all(
      'SELECT spec_hash FROM specs WHERE spec_hash >= ? AND spec_hash < ?',
      id,
      `${id}g`,
    );
    return like.length === 1 ? (like[0] as { spec_hash: string }).spec_hash : null;
  }

  /** The image of a spec, made again where its runtime changed. */
  async #openSpec(hash: string, id: string): Promise<LoadedImage> {
    const first = await this.#taken(hash);
    // Collected by a process for which its runtime is no more, before it was taken.
    const isGone = first.manifest === null && first.row?.imageId != null;
    const { row, manifest } = isGone ? await this.#taken(hash) : first;
    // An image that could not be made anew is still the one that it was.
    if (row?.state === 'failed' && row.imageId === null)
      throw new SandboxError(
        'IMAGE_FAILED',
        `The image "${id}" could not be built (${row.errorCode}): ${row.errorMessage}`,
      );
    if (row === undefined || manifest === null)
      throw new SandboxError(
        'IMAGE_NOT_READY',
        `The image "${id}" is ${row?.state ?? 'pending'}: its build has not ended.`,
      );
    return this.#shelf.loadFor(row, manifest, id);
  }

  async #taken(hash: string): Promise<{ row: BuildRow | undefined; manifest: Manifest | null }> {
    const row = await this.#upToDate(hash);
    return { row, manifest: this.#shelf.take(row?.imageId ?? null) };
  }

  async #row(hash: string): Promise<BuildRow | undefined> {
    const spec = this.#records.spec(hash);
    return spec === undefined ? undefined : this.#records.build(hash, (await this.#runtimes.for(spec)).key);
  }

  async #describe(hash: string): Promise<ImageRecord | null> {
    return describeRecord(this.#records, hash, await this.#row(hash));
  }

  /** How the build stands, after another one where there has to be one. */
  async #upToDate(hash: string): Promise<BuildRow | undefined> {
    const row = await this.#row(hash);
    if (!this.#isDue(hash, row)) return row;
    await this.#builds.build(hash, { refresh: false, progress: () => undefined });
    return this.#row(hash);
  }

  /**
   * Whether a run builds the image, or waits for whoever does: where there was one before, where the failure is long ago, and
   * where nobody who is alive builds it. The first build of an image is not waited for.
   */
  #isDue(hash: string, row: BuildRow | undefined): boolean {
    if (row !== undefined && (row.imageId !== null || row.state === 'ready')) return false;
    const nowMs = this.#clock.now();
    if (row?.state === 'failed') return (row.failedAtMs ?? 0) + this.#retryAfterMs <= nowMs;
    if (this.#records.spec(hash)?.lock != null) return true;
    return row === undefined || !isTaken(this.#records, hash, row.runtimeKey, nowMs);
  }
}

/** The images of a folder, which is made where it is missing. Close it to let the process end builds. */
export function createImages(options: ImagesOptions): Images {
  return new ImageStore(options);
}
