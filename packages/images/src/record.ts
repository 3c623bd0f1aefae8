import type { ImageFeatures, LoadedImage } from '@heddle/sandbox';
import type { ImageSpec, Lock } from './builder.ts';
import type { ImageErrorCode } from './error.ts';
import type { BuildRow, ImageState, ImageIndex } from './image-index.ts';

/** The manifest of an image, as the index stores it. */
export interface Manifest {
  readonly format: 1;
  readonly id: string;
  readonly language: LoadedImage['language'];
  readonly runtime: LoadedImage['runtime'];
  readonly lockHash: string;
  readonly runtimeKey: string;
  readonly blobs: { readonly [name: string]: { readonly sha256: string; readonly size: number } };
  readonly features: ImageFeatures;
  readonly warnings: readonly string[];
  readonly tools: { readonly [name: string]: string };
}

/** A requested image and its state. */
export interface ImageRecord {
  /** Hash of the specification: equal specifications share a record. */
  readonly id: string;
  /** Names of the image. */
  readonly names: readonly string[];
  readonly spec: ImageSpec;
  readonly state: ImageState;
  /** The image that runs use, even while a newer one is built. */
  readonly imageId: string | null;
  /** Runs in the isolate, or as a separate process; null before the first image. */
  readonly runtime: 'isolate' | 'native' | null;
  /** The resolved packages, as `name version`. */
  readonly packages: readonly string[];
  readonly warnings: readonly string[];
  /** Total size of the image's files, in bytes. */
  readonly bytes: number;
  readonly errorCode: ImageErrorCode | null;
  readonly errorMessage: string | null;
  /** The end of the build's log. */
  readonly errorDetail: string | null;
  /** ISO 8601. */
  readonly builtAt: string | null;
}

/** Reads the manifest of an image from the index; undefined for an unknown image. */
export function readManifest(index: ImageIndex, imageId: string): Manifest | undefined {
  const row = index.one('SELECT manifest FROM images WHERE id = ?', imageId);
  return row && (JSON.parse(row['manifest'] as string) as Manifest);
}

/** Returns the fields of a record that come from the image. */
function imageFields(manifest: Manifest | undefined, lock: Lock | undefined) {
  if (manifest === undefined) return { imageId: null, runtime: null, packages: [], warnings: [], bytes: 0 };
  const { id, runtime, warnings, blobs } = manifest;
  return {
    imageId: id,
    runtime,
    packages: (lock?.entries ?? []).map(({ name, version }) => `${name} ${version}`),
    warnings,
    bytes: Object.values(blobs).reduce((sum, { size }) => sum + size, 0),
  };
}

/** Returns the fields of a record that state how the last build ended. */
function outcomeFields(build: BuildRow | undefined) {
  const builtAtMs = build?.builtAtMs;
  return {
    errorCode: build?.errorCode ?? null,
    errorMessage: build?.errorMessage ?? null,
    errorDetail: build?.errorDetail ?? null,
    builtAt: builtAtMs === undefined ? null : new Date(builtAtMs).toISOString(),
  };
}

/** Returns the record of a specification. `build` is its build for the current runtime, if there is one. */
export function readRecord(
  index: ImageIndex,
  specHash: string,
  build: BuildRow | undefined,
): ImageRecord | undefined {
  const row = index.findSpec(specHash);
  if (row === undefined) return undefined;
  const imageId = build?.imageId;
  const manifest = imageId === undefined ? undefined : readManifest(index, imageId);
  return {
    id: specHash,
    names: index.names(specHash),
    spec: row.spec,
    state: build?.state ?? 'pending',
    ...imageFields(manifest, row.lock),
    ...outcomeFields(build),
  };
}
