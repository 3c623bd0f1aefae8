import type { Records } from './records.ts';

/** Where a build takes place: which spec, for which runtime, by whom. */
export interface Claim {
  readonly specHash: string;
  readonly runtimeKey: string;
  /** Unique for this build. */
  readonly owner: string;
}

/** Whose heart has not beaten for so long is taken for dead, in milliseconds. */
export const CLAIM_MS = 60_000;

/** How often a build tells that it is alive, in milliseconds. */
export const BEAT_MS = 15_000;

const MINE = 'spec_hash = ? AND runtime_key = ? AND claim = ?';

/** Takes the build: whether it was taken, somebody else who is alive has it, or nothing is left to do. */
export function take(
  records: Records,
  { specHash, runtimeKey, owner }: Claim,
  { nowMs, refresh }: { nowMs: number; refresh: boolean },
): 'taken' | 'busy' | 'ready' {
  return records.atomically(() => {
    records.change(
      `INSERT INTO builds (spec_hash, runtime_key, state, used_at) VALUES (?, ?, 'pending', ?)
       ON CONFLICT DO NOTHING`,
      specHash,
      runtimeKey,
      nowMs,
    );
    if (isTaken(records, specHash, runtimeKey, nowMs)) return 'busy';
    if (!refresh && records.build(specHash, runtimeKey)?.state === 'ready') return 'ready';
    records.change(
      `UPDATE builds SET state = 'building', claim = ?, claim_until = ?, used_at = ?
       WHERE spec_hash = ? AND runtime_key = ?`,
      owner,
      nowMs + CLAIM_MS,
      nowMs,
      specHash,
      runtimeKey,
    );
    return 'taken';
  });
}

/** Tells that the build is alive. Whether it is still its owner's. */
export function beat(records: Records, { specHash, runtimeKey, owner }: Claim, nowMs: number): boolean {
  const until = nowMs + CLAIM_MS;
  return (
    records.change(`UPDATE builds SET claim_until = ? WHERE ${MINE}`, until, specHash, runtimeKey, owner) > 0
  );
}

/** Lets go of a build that was broken off: it can be taken again at once. */
export function giveUp(records: Records, { specHash, runtimeKey, owner }: Claim): void {
  records.change(
    `UPDATE builds SET state = CASE WHEN image_id IS NULL THEN 'pending' ELSE 'ready' END, claim = NULL, claim_until = NULL
     WHERE ${MINE}`,
    specHash,
    runtimeKey,
    owner,
  );
}

/** Ends a build of which nothing is kept. Whether it was still its owner's. */
export function forget(records: Records, { specHash, runtimeKey, owner }: Claim): boolean {
  return records.change(`DELETE FROM builds WHERE ${MINE}`, specHash, runtimeKey, owner) > 0;
}

/** Whether somebody who is alive has the build. */
export function isTaken(records: Records, specHash: string, runtimeKey: string, nowMs: number): boolean {
  const row = records.one(
    'SELECT 1 FROM builds WHERE spec_hash = ? AND runtime_key = ? AND claim IS NOT NULL AND claim_until > ?',
    specHash,
    runtimeKey,
    nowMs,
  );
  return row !== undefined;
}

/** How a build ended. */
export interface Outcome {
  readonly imageId: string | null;
  readonly error: { readonly code: string; readonly message: string; readonly detail: string } | null;
}

/** Ends the build. Whether it was still its owner's; else nothing is written. */
export function settle(
  records: Records,
  { specHash, runtimeKey, owner }: Claim,
  { imageId, error }: Outcome,
  nowMs: number,
): boolean {
  const changed = records.change(
    `UPDATE builds SET state = ?, image_id = coalesce(?, image_id), error_code = ?, error_message = ?, error_detail = ?,
       built_at = coalesce(?, built_at), failed_at = ?, claim = NULL, claim_until = NULL
     WHERE ${MINE}`,
    error === null ? 'ready' : 'failed',
    imageId,
    error?.code ?? null,
    error?.message ?? null,
    error?.detail ?? null,
    imageId === null ? null : nowMs,
    error === null ? null : nowMs,
    specHash,
    runtimeKey,
    owner,
  );
  return changed > 0;
}
