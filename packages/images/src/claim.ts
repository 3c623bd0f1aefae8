import type { ImageIndex } from './image-index.ts';

/** The exclusive right to build a specification for a runtime. */
export interface Claim {
  readonly specHash: string;
  readonly runtimeKey: string;
  /** Unique for this build. */
  readonly owner: string;
}

/** Time without a heartbeat after which a build is considered dead, in milliseconds. */
const CLAIM_MS = 60_000;

/** Interval of heartbeats, in milliseconds. */
export const HEARTBEAT_MS = 15_000;

/** SQL condition for a build whose claim this owner still holds. */
const IS_HELD = 'spec_hash = ? AND runtime_key = ? AND claim = ?';

/** Claims the build. `busy`: another live owner is building it. `ready`: the image exists. */
export function claimBuild(
  index: ImageIndex,
  { specHash, runtimeKey, owner }: Claim,
  { nowMs, refresh }: { nowMs: number; refresh: boolean },
): 'claimed' | 'busy' | 'ready' {
  return index.inTransaction(() => {
    index.change(
      `INSERT INTO builds (spec_hash, runtime_key, state, used_at) VALUES (?, ?, 'pending', ?)
       ON CONFLICT DO NOTHING`,
      specHash,
      runtimeKey,
      nowMs,
    );
    if (isClaimed(index, specHash, runtimeKey, nowMs)) return 'busy';
    if (!refresh && index.findBuild(specHash, runtimeKey)?.state === 'ready') return 'ready';
    index.change(
      `UPDATE builds SET state = 'building', claim = ?, claim_until = ?, used_at = ?
       WHERE spec_hash = ? AND runtime_key = ?`,
      owner,
      nowMs + CLAIM_MS,
      nowMs,
      specHash,
      runtimeKey,
    );
    return 'claimed';
  });
}

/** Renews the claim. Returns whether the owner still holds it. */
export function renewClaim(
  index: ImageIndex,
  { specHash, runtimeKey, owner }: Claim,
  nowMs: number,
): boolean {
  const claimUntilMs = nowMs + CLAIM_MS;
  return (
    index.change(
      `UPDATE builds SET claim_until = ? WHERE ${IS_HELD}`,
      claimUntilMs,
      specHash,
      runtimeKey,
      owner,
    ) > 0
  );
}

/** Releases the claim of an interrupted build, so that it can be claimed immediately. */
export function releaseClaim(index: ImageIndex, { specHash, runtimeKey, owner }: Claim): void {
  index.change(
    `UPDATE builds SET state = CASE WHEN image_id IS NULL THEN 'pending' ELSE 'ready' END, claim = NULL, claim_until = NULL
     WHERE ${IS_HELD}`,
    specHash,
    runtimeKey,
    owner,
  );
}

/** Deletes the build instead of recording an outcome. Returns whether the owner still held the claim. */
export function deleteBuild(index: ImageIndex, { specHash, runtimeKey, owner }: Claim): boolean {
  return index.change(`DELETE FROM builds WHERE ${IS_HELD}`, specHash, runtimeKey, owner) > 0;
}

/** Returns whether a live owner holds a claim on the build. */
export function isClaimed(index: ImageIndex, specHash: string, runtimeKey: string, nowMs: number): boolean {
  const row = index.one(
    'SELECT 1 FROM builds WHERE spec_hash = ? AND runtime_key = ? AND claim IS NOT NULL AND claim_until > ?',
    specHash,
    runtimeKey,
    nowMs,
  );
  return row !== undefined;
}

/** The outcome of a build. */
export interface BuildOutcome {
  readonly imageId?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly detail: string };
}

/** Records the outcome. Returns whether the owner still held the claim; if not, nothing is written. */
export function recordOutcome(
  index: ImageIndex,
  { specHash, runtimeKey, owner }: Claim,
  { imageId, error }: BuildOutcome,
  nowMs: number,
): boolean {
  const changedCount = index.change(
    `UPDATE builds SET state = ?, image_id = coalesce(?, image_id), error_code = ?, error_message = ?, error_detail = ?,
       built_at = coalesce(?, built_at), failed_at = ?, claim = NULL, claim_until = NULL
     WHERE ${IS_HELD}`,
    error === undefined ? 'ready' : 'failed',
    imageId ?? null,
    error?.code ?? null,
    error?.message ?? null,
    error?.detail ?? null,
    imageId === undefined ? null : nowMs,
    error === undefined ? null : nowMs,
    specHash,
    runtimeKey,
    owner,
  );
  return changedCount > 0;
}
