import { randomUUID } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from './blobs.ts';
import { removeWorkFolder } from './ownership.ts';
import type { Manifest } from './record.ts';
import type { Records } from './records.ts';

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
function collectImages(records: Records, runtimeKeys: readonly string[], nowMs: number): number {
  const current = JSON.stringify(runtimeKeys);
  records.change('DELETE FROM leases WHERE until <= ?', nowMs);
  records.change(
    `DELETE FROM builds WHERE used_at <= ? AND (claim IS NULL OR claim_until <= ?)
       AND (runtime_key NOT IN (SELECT value FROM json_each(?)) OR spec_hash NOT IN (SELECT spec_hash FROM specs))`,
    nowMs - GRACE_MS,
    nowMs,
    current,
  );
  // An earlier version of Heddle, which does not know this table, deletes specifications but not their logs.
  records.change('DELETE FROM build_logs WHERE spec_hash NOT IN (SELECT spec_hash FROM specs)');
  const usedIds = `(SELECT image_id FROM builds WHERE image_id IS NOT NULL AND spec_hash IN (SELECT spec_hash FROM specs)
                 UNION SELECT image_id FROM leases)`;
  records.change(`UPDATE images SET unused_since = NULL WHERE id IN ${usedIds}`);
  records.change(
    `UPDATE images SET unused_since = ? WHERE unused_since IS NULL AND id NOT IN ${usedIds}`,
    nowMs,
  );
  return records.change('DELETE FROM images WHERE unused_since <= ?', nowMs - GRACE_MS);
}

interface Store {
  readonly folder: string;
  readonly records: Records;
  readonly blobs: Blobs;
}

/**
 * Moves a file or folder out of the store; it is deleted after the transaction, because deleting a root file system
 * takes a long time. If the process dies before that, the collection of work folders deletes it. Returns its new path;
 * undefined if it does not exist, because another process has collected it.
 */
function discard({ folder }: Store, path: string, nowMs: number): string | undefined {
  if (!existsSync(path)) return undefined;
  const discarded = join(folder, 'work', `${nowMs}-${randomUUID()}`);
  renameSync(path, discarded);
  return discarded;
}

/**
 * Moves files that belong to no image out of the store: those with a source (downloads and compiled tools) 30 days
 * after builds last used them, all others a day after they were added. Returns their number and new paths.
 */
function collectBlobs(store: Store, nowMs: number): { readonly blobs: number; readonly discarded: string[] } {
  const { records, blobs } = store;
  const used = new Set<string>();
  for (const row of records.all('SELECT manifest FROM images')) {
    const { blobs: manifestBlobs } = JSON.parse(row['manifest'] as string) as Manifest;
    for (const { sha256 } of Object.values(manifestBlobs)) used.add(sha256);
  }
  const discarded: string[] = [];
  let removed = 0;
  const sql = 'SELECT sha256 FROM blobs WHERE added_at <= CASE WHEN source IS NULL THEN ? ELSE ? END';
  for (const row of records.all(sql, nowMs - GRACE_MS, nowMs - CACHE_MS)) {
    const sha256 = row['sha256'] as string;
    if (used.has(sha256)) continue;
    const path = discard(store, blobs.path(sha256), nowMs);
    if (path !== undefined) discarded.push(path);
    removed += records.change('DELETE FROM blobs WHERE sha256 = ?', sha256);
  }
  return { blobs: removed, discarded };
}

/**
 * Removes files in the store without a row in the index, a day after they were added: their process died before it
 * wrote the row. Returns their number.
 */
async function collectUnrecorded(store: Store, nowMs: number): Promise<number> {
  const { folder, records } = store;
  const blobsFolder = join(folder, 'blobs');
  let removed = 0;
  for (const prefix of await readdir(blobsFolder)) {
    for (const sha256 of await readdir(join(blobsFolder, prefix))) {
      const path = join(blobsFolder, prefix, sha256);
      const stat = await lstat(path).catch(() => undefined);
      // ctime is the time at which the file was added; its contents may be older.
      if (stat === undefined || stat.ctimeMs > nowMs - GRACE_MS) continue;
      // A build may be storing the same file; the transaction ensures that it finds the file either present or removed.
      const discarded = records.atomically(() =>
        records.one('SELECT 1 FROM blobs WHERE sha256 = ?', sha256) === undefined
          ? discard(store, path, nowMs)
          : undefined,
      );
      if (discarded === undefined) continue;
      await rm(discarded, { recursive: true, force: true });
      removed++;
    }
  }
  return removed;
}

/** Removes the work folders of dead builds, a day after their time limit, which is in the names of the folders. */
async function collectWork(folder: string, nowMs: number): Promise<void> {
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
  const { folder, records } = store;
  // Rows and files in one transaction: a build that publishes in the meantime waits, and then sees the removals.
  const { images, blobs, discarded } = records.atomically(() => ({
    images: collectImages(records, runtimeKeys, nowMs),
    ...collectBlobs(store, nowMs),
  }));
  for (const path of discarded) await rm(path, { recursive: true, force: true });
  await collectWork(folder, nowMs);
  const unrecorded = await collectUnrecorded(store, nowMs);
  return { images, blobs: blobs + unrecorded };
}
