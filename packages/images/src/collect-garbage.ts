import { randomUUID } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from './blobs.ts';
import { removeWorkFolder } from './ownership.ts';
import type { Manifest } from './record.ts';
import type { ImageIndex } from './image-index.ts';

/** Time for which unused files and rows are kept, in milliseconds. */
export const GRACE_MS = 24 * 3_600_000;

/** Time for which downloads and compiled tools are kept after a build has used them, in milliseconds. */
const CACHE_MS = 30 * 24 * 3_600_000;

/** Numbers of removed items. */
export interface GarbageReport {
  readonly images: number;
  readonly blobs: number;
}

/**
 * Deletes expired leases, unused builds of other runtimes or removed specifications, and images that no specification
 * or lease has used for a day. Returns the number of deleted images.
 */
function collectImages(index: ImageIndex, runtimeKeys: readonly string[], nowMs: number): number {
  const runtimeKeysJson = JSON.stringify(runtimeKeys);
  index.change('DELETE FROM leases WHERE until <= ?', nowMs);
  index.change(
    `DELETE FROM builds WHERE used_at <= ? AND (claim IS NULL OR claim_until <= ?)
       AND (runtime_key NOT IN (SELECT value FROM json_each(?)) OR spec_hash NOT IN (SELECT spec_hash FROM specs))`,
    nowMs - GRACE_MS,
    nowMs,
    runtimeKeysJson,
  );
  // An earlier version of Heddle, which does not know this table, deletes specifications but not their logs.
  index.change('DELETE FROM build_logs WHERE spec_hash NOT IN (SELECT spec_hash FROM specs)');
  const usedIdsQuery = `(SELECT image_id FROM builds WHERE image_id IS NOT NULL AND spec_hash IN (SELECT spec_hash FROM specs)
                 UNION SELECT image_id FROM leases)`;
  index.change(`UPDATE images SET unused_since = NULL WHERE id IN ${usedIdsQuery}`);
  index.change(
    `UPDATE images SET unused_since = ? WHERE unused_since IS NULL AND id NOT IN ${usedIdsQuery}`,
    nowMs,
  );
  return index.change('DELETE FROM images WHERE unused_since <= ?', nowMs - GRACE_MS);
}

interface Store {
  readonly folder: string;
  readonly index: ImageIndex;
  readonly blobs: Blobs;
}

/**
 * Moves a file or folder out of the store; it is deleted after the transaction, because deleting a root file system
 * takes a long time. If the process dies before that, the collection of work folders deletes it. Returns its new path;
 * undefined if it does not exist, because another process has collected it.
 */
function discard({ folder }: Store, path: string, nowMs: number): string | undefined {
  if (!existsSync(path)) return undefined;
  const discardedPath = join(folder, 'work', `${nowMs}-${randomUUID()}`);
  renameSync(path, discardedPath);
  return discardedPath;
}

/**
 * Moves files that belong to no image out of the store: those with a source (downloads and compiled tools) 30 days
 * after builds last used them, all others a day after they were added. Returns their number and new paths.
 */
function collectBlobs(
  store: Store,
  nowMs: number,
): { readonly blobs: number; readonly discardedPaths: string[] } {
  const { index, blobs } = store;
  const usedDigests = new Set<string>();
  for (const row of index.all('SELECT manifest FROM images')) {
    const { blobs: manifestBlobs } = JSON.parse(row['manifest'] as string) as Manifest;
    for (const { sha256 } of Object.values(manifestBlobs)) usedDigests.add(sha256);
  }
  const discardedPaths: string[] = [];
  let removedCount = 0;
  const sql = 'SELECT sha256 FROM blobs WHERE added_at <= CASE WHEN source IS NULL THEN ? ELSE ? END';
  for (const row of index.all(sql, nowMs - GRACE_MS, nowMs - CACHE_MS)) {
    const sha256 = row['sha256'] as string;
    if (usedDigests.has(sha256)) continue;
    const path = discard(store, blobs.path(sha256), nowMs);
    if (path !== undefined) discardedPaths.push(path);
    removedCount += index.change('DELETE FROM blobs WHERE sha256 = ?', sha256);
  }
  return { blobs: removedCount, discardedPaths };
}

/**
 * Removes files in the store without a row in the index, a day after they were added: their process died before it
 * wrote the row. Returns their number.
 */
async function collectUnrecordedBlobs(store: Store, nowMs: number): Promise<number> {
  const { folder, index } = store;
  const blobsFolder = join(folder, 'blobs');
  let removedCount = 0;
  for (const prefix of await readdir(blobsFolder)) {
    for (const sha256 of await readdir(join(blobsFolder, prefix))) {
      const path = join(blobsFolder, prefix, sha256);
      const stat = await lstat(path).catch(() => undefined);
      // ctime is the time at which the file was added; its contents may be older.
      if (stat === undefined || stat.ctimeMs > nowMs - GRACE_MS) continue;
      // A build may be storing the same file; the transaction ensures that it finds the file either present or removed.
      const discardedPath = index.inTransaction(() =>
        index.one('SELECT 1 FROM blobs WHERE sha256 = ?', sha256) === undefined
          ? discard(store, path, nowMs)
          : undefined,
      );
      if (discardedPath === undefined) continue;
      await rm(discardedPath, { recursive: true, force: true });
      removedCount++;
    }
  }
  return removedCount;
}

/** Removes the work folders of dead builds, a day after their time limit, which is in the names of the folders. */
async function collectWorkFolders(folder: string, nowMs: number): Promise<void> {
  const workFolder = join(folder, 'work');
  for (const name of await readdir(workFolder)) {
    const endMs = Number(/^(\d+)-/.exec(name)?.[1] ?? nowMs);
    if (endMs <= nowMs - GRACE_MS) await removeWorkFolder(join(workFolder, name));
  }
}

/** Mark and sweep: keeps what specifications and leases use, and removes the rest after a day. */
export async function collectGarbage(
  store: Store,
  runtimeKeys: readonly string[],
  nowMs: number,
): Promise<GarbageReport> {
  const { folder, index } = store;
  // Rows and files in one transaction: a build that publishes in the meantime waits, and then sees the removals.
  const { images, blobs, discardedPaths } = index.inTransaction(() => ({
    images: collectImages(index, runtimeKeys, nowMs),
    ...collectBlobs(store, nowMs),
  }));
  for (const path of discardedPaths) await rm(path, { recursive: true, force: true });
  await collectWorkFolders(folder, nowMs);
  const unrecordedCount = await collectUnrecordedBlobs(store, nowMs);
  return { images, blobs: blobs + unrecordedCount };
}
