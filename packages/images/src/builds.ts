import { randomUUID } from 'node:crypto';
import {
  HEARTBEAT_MS,
  claimBuild,
  deleteBuild,
  isClaimed,
  recordOutcome,
  releaseClaim,
  renewClaim,
  type Claim,
} from './claim.ts';
import { buildImage, type BuildSuccess, type BuildFailure, type BuildEnvironment } from './build.ts';
import type { Lock } from './builder.ts';
import { ImageError } from './error.ts';
import type { BuildRow, ImageIndex } from './image-index.ts';
import type { Runtime, Runtimes } from './runtimes.ts';

/** Clock functions that builds need. */
export interface ImageClock {
  /** Milliseconds since the epoch. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

interface BuildsOptions {
  readonly index: ImageIndex;
  readonly runtimes: Runtimes;
  readonly environment: BuildEnvironment;
  readonly clock: ImageClock;
}

/** Options of a requested build. */
export interface RequestedBuildOptions {
  /** Resolves the versions again, even if the specification has a lock. */
  readonly refresh: boolean;
  readonly onProgress: (step: string) => void;
}

/** Interval for polling a build of another process, in milliseconds. */
const POLL_MS = 500;
/** Error codes after which a specification is built as a native image instead of an image for the isolate. */
const NATIVE_FALLBACK_CODES: readonly string[] = ['no_compatible_wheel', 'unsupported_package'];

/** The builds of one process. A specification has at most one build per runtime at a time, across processes. */
export class Builds {
  readonly #options: BuildsOptions;
  readonly #runningBuilds = new Map<
    string,
    { done: Promise<void>; listeners: Set<(step: string) => void> }
  >();
  readonly #closeController = new AbortController();

  constructor(options: BuildsOptions) {
    this.#options = options;
  }

  /**
   * Builds a specification, or waits for a build in progress (whose `refresh` may differ), including one of another
   * process. Stores the outcome in the index.
   */
  async build(specHash: string, { refresh, onProgress }: RequestedBuildOptions): Promise<void> {
    const runningBuild = this.#runningBuilds.get(specHash);
    if (runningBuild !== undefined) {
      runningBuild.listeners.add(onProgress);
      return runningBuild.done;
    }
    const listeners = new Set([onProgress]);
    const report = (step: string): void => listeners.forEach((listener) => listener(step));
    const done = this.#claimAndBuild(specHash, { refresh, onProgress: report }).finally(() =>
      this.#runningBuilds.delete(specHash),
    );
    this.#runningBuilds.set(specHash, { done, listeners });
    return done;
  }

  /** Stops all builds of this process and releases their claims. */
  async close(): Promise<void> {
    this.#closeController.abort(new ImageError('provider_error', 'The process is shutting down.'));
    await Promise.allSettled([...this.#runningBuilds.values()].map(({ done }) => done));
  }

  async #claimAndBuild(specHash: string, options: RequestedBuildOptions): Promise<void> {
    const { index, runtimes, clock } = this.#options;
    const row = index.findSpec(specHash);
    if (row === undefined) return;
    const runtime = await runtimes.ofSpec(row);
    const claim: Claim = { specHash, runtimeKey: runtime.key, owner: randomUUID() };
    const { refresh } = options;
    for (let hasWaited = false; ; hasWaited = true) {
      const state = claimBuild(index, claim, { nowMs: clock.now(), refresh });
      if (state === 'ready') return;
      if (state === 'claimed') break;
      if (!hasWaited) options.onProgress('waiting for another process that builds this image');
      await clock.sleep(POLL_MS, this.#closeController.signal);
      // Use the other process's outcome; if its build was interrupted, claim it.
      if (
        !isClaimed(index, specHash, runtime.key, clock.now()) &&
        hasEnded(index.findBuild(specHash, runtime.key))
      )
        return;
    }
    await this.#run(claim, runtime, options.refresh ? undefined : row.lock, options.onProgress);
  }

  async #run(
    claim: Claim,
    runtime: Runtime,
    lock: Lock | undefined,
    reportProgress: (step: string) => void,
  ): Promise<void> {
    const { index, environment } = this.#options;
    const { timeoutMs } = environment;
    const claimLossController = new AbortController();
    const deadlineController = new AbortController();
    const minutes = Math.ceil(timeoutMs / 60_000);
    const timer = setTimeout(
      () =>
        deadlineController.abort(
          new ImageError(
            'build_timeout',
            `The build took more than ${minutes} minutes: give it more time (buildTimeoutMs, or --timeout of heddle sandbox build).`,
          ),
        ),
      timeoutMs,
    );
    const heartbeat = setInterval(() => {
      if (!this.#renew(claim))
        claimLossController.abort(new ImageError('provider_error', 'Another process took over the build.'));
    }, HEARTBEAT_MS);
    try {
      const signal = AbortSignal.any([
        deadlineController.signal,
        claimLossController.signal,
        this.#closeController.signal,
      ]);
      const { result, builtBy } = await this.#attempt(claim, { runtime, lock, signal, reportProgress });
      if (this.#closeController.signal.aborted && 'code' in result) releaseClaim(index, claim);
      else if (!claimLossController.signal.aborted) this.#record(claim, result, builtBy);
    } catch (error) {
      // If the outcome cannot be recorded, release the claim so that others need not wait until it expires.
      this.#release(claim);
      throw error;
    } finally {
      clearTimeout(timer);
      clearInterval(heartbeat);
    }
  }

  #release(claim: Claim): void {
    try {
      releaseClaim(this.#options.index, claim);
    } catch {
      // The index cannot be written, so the claim expires by itself.
    }
  }

  /** Renews the claim. Returns whether this process still holds it. */
  #renew(claim: Claim): boolean {
    const { index, clock } = this.#options;
    try {
      return renewClaim(index, claim, clock.now());
    } catch {
      // The disk is full or the database of the index is locked. A claim outlives several heartbeats, and the next one
      // may succeed.
      return true;
    }
  }

  async #attempt(
    { specHash }: Claim,
    attempt: {
      runtime: Runtime;
      lock: Lock | undefined;
      signal: AbortSignal;
      reportProgress: (step: string) => void;
    },
  ): Promise<{ result: BuildSuccess | BuildFailure; builtBy: Runtime }> {
    const { index, runtimes, environment } = this.#options;
    const { runtime, lock, signal, reportProgress } = attempt;
    const spec = index.findSpec(specHash)?.spec;
    if (spec === undefined)
      return {
        result: { code: 'provider_error', message: 'The specification was removed.', detail: '', log: '' },
        builtBy: runtime,
      };
    const buildFor = ({ builder, key }: Runtime, storedLock?: Lock): Promise<BuildSuccess | BuildFailure> =>
      buildImage({ spec, builder, runtimeKey: key, lock: storedLock }, environment, signal, reportProgress);
    const result = await buildFor(runtime, lock);
    if (
      !('code' in result) ||
      !NATIVE_FALLBACK_CODES.includes(result.code) ||
      runtime.kind === 'native' ||
      !runtimes.hasNativeBuilder
    )
      return { result, builtBy: runtime };
    reportProgress('building for the native runtime');
    const nativeRuntime = await runtimes.ofKind('native');
    const nativeResult = await buildFor(nativeRuntime);
    const log = `${result.log}\n== building for the native runtime\n${nativeResult.log}`;
    if (!('code' in nativeResult)) return { result: { ...nativeResult, log }, builtBy: nativeRuntime };
    const message = `${result.message} The native runtime cannot build it either: ${nativeResult.message}`;
    const detail = nativeResult.detail || result.detail;
    return { result: { ...result, message, detail, log }, builtBy: runtime };
  }

  /** Stores the outcome (image, lock, log and state) in one transaction. */
  #record(claim: Claim, result: BuildSuccess | BuildFailure, builtBy: Runtime): void {
    const { index, clock } = this.#options;
    const nowMs = clock.now();
    index.inTransaction(() => {
      // If another process has claimed the build, this result is discarded: its lock would not match the other image.
      if (!renewClaim(index, claim, nowMs)) return false;
      // The specification was removed in the meantime.
      if (index.findSpec(claim.specHash) === undefined) return deleteBuild(index, claim);
      index.storeLog(claim.specHash, result.log);
      if ('code' in result) return recordOutcome(index, claim, { error: result }, nowMs);
      const { manifest, lock } = result;
      index.change(
        `INSERT INTO images (id, manifest) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET manifest = excluded.manifest, unused_since = NULL`,
        manifest.id,
        JSON.stringify(manifest),
      );
      index.change(
        'UPDATE specs SET lock = ?, builder = ? WHERE spec_hash = ?',
        JSON.stringify(lock),
        builtBy.kind,
        claim.specHash,
      );
      if (builtBy.key !== claim.runtimeKey)
        this.#recordFallbackImage(claim.specHash, builtBy.key, manifest.id, nowMs);
      return recordOutcome(index, claim, { imageId: manifest.id }, nowMs);
    });
  }

  /** Also records the image for the runtime that built it, since later requests ask for that runtime. */
  #recordFallbackImage(specHash: string, runtimeKey: string, imageId: string, nowMs: number): void {
    this.#options.index.change(
      `INSERT INTO builds (spec_hash, runtime_key, state, image_id, built_at, used_at) VALUES (?, ?, 'ready', ?, ?, ?)
       ON CONFLICT DO UPDATE SET state = 'ready', image_id = excluded.image_id, built_at = excluded.built_at,
         error_code = NULL, error_message = NULL, error_detail = NULL, failed_at = NULL`,
      specHash,
      runtimeKey,
      imageId,
      nowMs,
      nowMs,
    );
  }
}

function hasEnded(row: BuildRow | undefined): boolean {
  return row?.state === 'ready' || row?.state === 'failed';
}
