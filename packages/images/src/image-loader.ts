import { randomUUID } from 'node:crypto';
import { type ImageBlob, type LoadedImage, SandboxError } from '@heddle/sandbox';
import type { Blobs } from './blobs.ts';
import { isImageError } from './error.ts';
import { readManifest, type Manifest } from './record.ts';
import type { BuildRow, ImageIndex } from './image-index.ts';

/** Duration of a lease, which protects an opened image from garbage collection, in milliseconds. */
const LEASE_MS = 3_600_000;
/** Time after which a lease is renewed when its image is opened again, in milliseconds. */
const LEASE_RENEWAL_MS = 60_000;

/** Loads images from the store: leases them and verifies their files. */
export class ImageLoader {
  readonly #index: ImageIndex;
  readonly #blobs: Blobs;
  readonly #now: () => number;
  readonly #holder = randomUUID();
  readonly #leasedAtMs = new Map<string, number>();

  constructor(index: ImageIndex, blobs: Blobs, now: () => number) {
    this.#index = index;
    this.#blobs = blobs;
    this.#now = now;
  }

  /**
   * Leases an image and returns its manifest; undefined for an unknown image. Runs in one transaction, so that a
   * garbage collection happens either before or after it.
   */
  lease(imageId: string): Manifest | undefined {
    const nowMs = this.#now();
    if ((this.#leasedAtMs.get(imageId) ?? -Infinity) + LEASE_RENEWAL_MS > nowMs)
      return readManifest(this.#index, imageId);
    return this.#index.inTransaction(() => {
      const manifest = readManifest(this.#index, imageId);
      if (manifest === undefined) return undefined;
      this.#index.change(
        'INSERT INTO leases (image_id, holder, until) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET until = excluded.until',
        imageId,
        this.#holder,
        nowMs + LEASE_MS,
      );
      // The day for which unused images are kept begins again: the lease may expire before the next garbage collection.
      this.#index.change('UPDATE images SET unused_since = NULL WHERE id = ?', imageId);
      this.#index.change('UPDATE builds SET used_at = ? WHERE image_id = ?', nowMs, imageId);
      this.#leasedAtMs.set(imageId, nowMs);
      return manifest;
    });
  }

  /** Loads the image of a build. Marks the build as failed if the files of the image cannot be verified. */
  async loadForBuild(row: BuildRow, manifest: Manifest, id: string): Promise<LoadedImage> {
    try {
      return await this.load(manifest, id);
    } catch (error) {
      // Another error, such as too many open files, says nothing about the image.
      if (!(error instanceof SandboxError)) throw error;
      this.#index.change(
        `UPDATE builds SET state = 'failed', image_id = NULL, error_code = 'integrity_error', error_message = ?, failed_at = ?
         WHERE spec_hash = ? AND runtime_key = ? AND image_id = ?`,
        error.message,
        this.#now(),
        row.specHash,
        row.runtimeKey,
        manifest.id,
      );
      throw error;
    }
  }

  /**
   * Loads the image of a leased manifest. Throws SandboxError IMAGE_FAILED, with `id` and the file that does not match
   * its digest in the message.
   */
  async load(manifest: Manifest, id: string): Promise<LoadedImage> {
    const blobs: Record<string, ImageBlob> = {};
    for (const [name, { sha256, size }] of Object.entries(manifest.blobs)) {
      const blob = { path: this.#blobs.path(sha256), sha256, size };
      try {
        await this.#blobs.verify(name, blob);
      } catch (error) {
        if (!isImageError(error)) throw error;
        throw new SandboxError('IMAGE_FAILED', `The image "${id}" cannot be used: ${error.message}`);
      }
      blobs[name] = blob;
    }
    const { language, runtime, features } = manifest;
    return { id: manifest.id, language, runtime, blobs, features };
  }
}
