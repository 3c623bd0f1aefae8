import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageBlob } from '@heddle/sandbox';
import type { Blobs } from './blobs.ts';
import type { AssembledImage, BuildContext, ImageBuilder, ImageSpec, Lock, Registries } from './builder.ts';
import { ImageError, isImageError } from './error.ts';
import type { Fetcher } from './fetcher.ts';
import { imageKey, lockHash } from './keys.ts';
import { BuildLog, secretsOf } from './log.ts';
import type { Manifest } from './record.ts';
import { sizeOf } from './tree.ts';

/** One build: a specification, its builder and its runtime. */
export interface BuildRequest {
  readonly spec: ImageSpec;
  readonly builder: ImageBuilder;
  readonly runtimeKey: string;
  /** The lock of an earlier image, used instead of resolving. */
  readonly lock: Lock | undefined;
}

/** The services and limits that all builds of a folder share. */
export interface BuildEnvironment {
  readonly folder: string;
  readonly blobs: Blobs;
  readonly fetcher: Fetcher;
  readonly registries: Registries;
  readonly now: () => number;
  /** Time limit of a build in milliseconds; a longer one fails with `build_timeout`. */
  readonly timeoutMs: number;
  /** Maximum size of all files of an image. */
  readonly maxImageMiB: number;
  /** As in `BuildContext`. */
  readonly updateMaximum: (name: string, value: number) => number | undefined;
}

export interface BuildSuccess {
  readonly manifest: Manifest;
  readonly lock: Lock;
  /** The whole log. */
  readonly log: string;
}

/** A failed build. */
export interface BuildFailure {
  readonly code: ImageError['code'];
  readonly message: string;
  /** The end of the log. */
  readonly detail: string;
  /** The whole log. */
  readonly log: string;
}

const SQLITE_FULL = 13;

/** Checks the total size of files before they go into the store. Throws ImageError image_too_large. */
async function checkSize(paths: readonly string[], maxImageMiB: number): Promise<void> {
  let bytes = 0;
  for (const path of paths) bytes += await sizeOf(path);
  if (bytes > maxImageMiB * 2 ** 20)
    throw new ImageError(
      'image_too_large',
      `The image is ${Math.ceil(bytes / 2 ** 20)} MiB; the maximum is ${maxImageMiB} MiB.`,
    );
}

/** Moves the files of an image into the store. Returns the manifest of the image. */
async function publish(
  request: BuildRequest,
  lock: Lock,
  assembledImage: AssembledImage,
  environment: BuildEnvironment,
): Promise<Manifest> {
  const { blobs, maxImageMiB } = environment;
  await checkSize(Object.values(assembledImage.blobs), maxImageMiB);
  const storedBlobs: Record<string, { sha256: string; size: number }> = {};
  for (const [name, path] of Object.entries(assembledImage.blobs)) {
    const { sha256, size } = await blobs.add(path);
    storedBlobs[name] = { sha256, size };
  }
  const hash = lockHash(lock);
  return {
    format: 1,
    id: imageKey(hash, request.runtimeKey, request.spec),
    language: request.spec.language,
    runtime: request.builder.runtime,
    lockHash: hash,
    runtimeKey: request.runtimeKey,
    blobs: storedBlobs,
    features: assembledImage.features,
    warnings: assembledImage.warnings,
    tools: assembledImage.tools,
  };
}

async function findOrMakeFolder(
  name: string,
  make: (folder: string) => Promise<void>,
  { blobs, workFolder }: { blobs: Blobs; workFolder: string },
): Promise<ImageBlob> {
  const cachedBlob = await blobs.find(name);
  if (cachedBlob !== undefined) return cachedBlob;
  const folder = join(workFolder, `cached-${randomUUID()}`);
  await mkdir(folder);
  await make(folder);
  return blobs.add(folder, name);
}

/** Returns whether an error means that the disk is full. */
function isDiskFull(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: string; errcode?: number };
  return code === 'ENOSPC' || code === 'EDQUOT' || errcode === SQLITE_FULL;
}

/** Returns the failure of a build, with messages that contain no tokens or paths. */
function toFailure(error: unknown, signal: AbortSignal, log: BuildLog): BuildFailure {
  const reason: unknown = signal.aborted ? signal.reason : error;
  const { code, message } = isImageError(reason) ? reason : describeInterruption(reason, log);
  log.note(`${code}: ${message}`);
  return { code, message: log.redact(message), detail: log.tail(), log: log.fullText() };
}

/** Returns code and message for an error that is not about the packages. */
function describeInterruption(error: unknown, log: BuildLog): Pick<ImageError, 'code' | 'message'> {
  if (isDiskFull(error))
    return {
      code: 'provider_error',
      message: 'The disk with the images is full; free some space and build again.',
    };
  const message = log.redact(error instanceof Error ? error.message : String(error)).slice(0, 500);
  return {
    code: 'provider_error',
    message: `The build was interrupted, not because of the packages: ${message}`,
  };
}

/**
 * Builds one image: resolves the specification, assembles the files and stores them. Never throws; an aborted build
 * fails with the signal's reason.
 */
export async function buildImage(
  request: BuildRequest,
  environment: BuildEnvironment,
  signal: AbortSignal,
  report: (step: string) => void,
): Promise<BuildSuccess | BuildFailure> {
  const { blobs, fetcher, registries, now, updateMaximum } = environment;
  // The garbage collection reads the time in the name, which must not be before the end of the build.
  const workFolder = join(environment.folder, 'work', `${now() + environment.timeoutMs}-${randomUUID()}`);
  const log = new BuildLog(secretsOf(registries), [workFolder, environment.folder]);
  const reportProgress = (step: string): void => {
    log.note(`== ${step}`);
    report(step);
  };
  const context: BuildContext = {
    workFolder,
    registries,
    signal,
    now,
    updateMaximum,
    log: (line) => log.add(line),
    reportProgress,
    fetchVerified: (url, digest, options) =>
      fetcher.fetchVerified({ url, digest, workFolder }, options, blobs, signal),
    findOrMakeFolder: (name, make) => findOrMakeFolder(name, make, { blobs, workFolder }),
    fetchPage: (url, options) => fetcher.fetchPage(url, options, signal),
  };
  try {
    await mkdir(workFolder, { recursive: true, mode: 0o700 });
    if (request.lock === undefined) reportProgress('resolving');
    const lock = request.lock ?? (await request.builder.resolve(request.spec, context));
    signal.throwIfAborted();
    reportProgress('assembling');
    const assembledImage = await request.builder.assemble(lock, request.spec, context);
    signal.throwIfAborted();
    reportProgress('publishing');
    return { manifest: await publish(request, lock, assembledImage, environment), lock, log: log.fullText() };
  } catch (error) {
    return toFailure(error, signal, log);
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}
