import { randomUUID } from 'node:crypto';
import { SandboxError } from '../error.ts';
import type { Blobs } from './blobs.ts';
import { isImageError } from './error.ts';
import type { Manifest } from './manifest.ts';
import { readManifest } from './record.ts';
import type { BuildRow, Records } from './records.ts';
import type { ImageBlob, LoadedImage } from './source.ts';

/** How long an opened image is not collected, and how often that is said anew, in milliseconds. */
const LEASE_MS = 3_600_000;
const LEASE_AGAIN_MS = 60_000;

/** Hands images out: their files are checked, and kept while they are in use. */
export class Shelf {
  readonly #records: Records;
  readonly #blobs: Blobs;
  readonly #now: () => number;
  readonly #holder = randomUUID();
  readonly #leased = new Map<string, number>();

  constructor(records: Records, blobs: Blobs, now: () => number) {
    this.#records = records;
    this.#blobs = blobs;
    this.#now = now;
  }

  /**
   * The manifest of an image, which is not collected from here on; null where there is none. In one step: a collection comes
   * before or after.
   */
  take(imageId: string | null): Manifest | null {
    const nowMs = this.#now();
    if (imageId === null || (this.#leased.get(imageId) ?? -Infinity) + LEASE_AGAIN_MS > nowMs)
      return readManifest(this.#records, imageId);
    return this.#records.atomically(() => {
      const manifest = readManifest(this.#records, imageId);
      if (manifest === null) return null;
      this.#records.change(
        'INSERT INTO leases (image_id, holder, until) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET until = excluded.until',
        imageId,
        this.#holder,
        nowMs + LEASE_MS,
      );
      this.#records.change('UPDATE builds SET used_at = ? WHERE image_id = ?', nowMs, imageId);
      this.#leased.set(imageId, nowMs);
      return manifest;
    });
  }

  /** The image of a build; where a file of it is not what it was, the build is marked as failed. */
  async loadFor(row: BuildRow, manifest: Manifest, id: string): Promise<LoadedImage> {
    try {
      return await this.load(manifest, id);
    } catch (error) {
      this.#records.change(
        `UPDATE builds SET state = 'failed', image_id = NULL, error_code = 'integrity_error', error_message = ?, failed_at = ?
         WHERE spec_hash = ? AND runtime_key = ? AND image_id = ?`,
        (error as Error).message,
        this.#now(),
        row.specHash,
        row.runtimeKey,
        manifest.id,
      );
      throw error;
    }
  }

  /** The image of a manifest that was taken, its files checked. Throws SandboxError IMAGE_FAILED, naming the file that is broken. */
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
