import type { ImageSpec, Lock } from './builder.ts';
import type { ImageErrorCode } from './error.ts';
import type { Manifest } from './manifest.ts';
import type { BuildRow, ImageState, Records } from './records.ts';

/** An image that was asked for, and how it stands. */
export interface ImageRecord {
  /** The hash of the spec: equal specs are one record. */
  readonly id: string;
  /** Names that were given to it. */
  readonly names: readonly string[];
  readonly spec: ImageSpec;
  readonly state: ImageState;
  /** The image to run with, also while a newer one is built. */
  readonly imageId: string | null;
  /** In the isolate, or as a process of its own; null before the first image. */
  readonly runtime: 'isolate' | 'native' | null;
  /** What was chosen, as `name version`. */
  readonly packages: readonly string[];
  readonly warnings: readonly string[];
  /** All files of the image, in bytes. */
  readonly bytes: number;
  readonly errorCode: ImageErrorCode | null;
  readonly errorMessage: string | null;
  /** The end of the build's log. */
  readonly errorDetail: string | null;
  /** ISO 8601. */
  readonly builtAt: string | null;
}

/** The manifest of an image in the index. */
export function readManifest(records: Records, imageId: string | null): Manifest | null {
  const row = imageId === null ? undefined : records.one('SELECT manifest FROM images WHERE id = ?', imageId);
  return row === undefined ? null : (JSON.parse(row['manifest'] as string) as Manifest);
}

/** What the record tells of the image, where there is one. */
function ofImage(manifest: Manifest | null, lock: Lock | null) {
  if (manifest === null) return { imageId: null, runtime: null, packages: [], warnings: [], bytes: 0 };
  const { id, runtime, warnings, blobs } = manifest;
  return {
    imageId: id,
    runtime,
    packages: (lock?.entries ?? []).map(({ name, version }) => `${name} ${version}`),
    warnings,
    bytes: Object.values(blobs).reduce((sum, { size }) => sum + size, 0),
  };
}

const NOT_BUILT = { state: 'pending', errorCode: null, errorMessage: null, errorDetail: null } as const;

/** The record of a spec whose build for this runtime is `build`, where there is one. */
export function describeRecord(
  records: Records,
  specHash: string,
  build: BuildRow | undefined,
): ImageRecord | null {
  const row = records.spec(specHash);
  if (row === undefined) return null;
  const { state, errorCode, errorMessage, errorDetail } = build ?? NOT_BUILT;
  const builtAtMs = build?.builtAtMs ?? null;
  return {
    id: specHash,
    names: records.names(specHash),
    spec: row.spec,
    state,
    ...ofImage(readManifest(records, build?.imageId ?? null), row.lock),
    errorCode,
    errorMessage,
    errorDetail,
    builtAt: builtAtMs === null ? null : new Date(builtAtMs).toISOString(),
  };
}
