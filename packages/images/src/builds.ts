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
import { buildImage, type Built, type BuildFailure, type BuildEnvironment } from './build.ts';
import type { Lock } from './builder.ts';
import { ImageError } from './error.ts';
import type { BuildRow, Records } from './records.ts';
import type { Runtime, Runtimes } from './runtimes.ts';

/** Time, as builds need it. */
export interface ImageClock {
  /** Milliseconds since the epoch. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

interface BuildsOptions {
  readonly records: Records;
  readonly runtimes: Runtimes;
  readonly environment: BuildEnvironment;
  readonly clock: ImageClock;
  /** A build that takes longer fails with `build_timeout`, in milliseconds. */
  readonly timeoutMs: number;
}

/** What the caller asks for. */
export interface Wanted {
  /** Resolve again, although there is a lock. */
  readonly refresh: boolean;
  readonly progress: (step: string) => void;
}

/** Interval of looks at a build of another process, in milliseconds. */
const LOOK_MS = 500;
/** Failures of the isolate's builders after which the native builder is tried. */
const FOR_NATIVE: readonly string[] = ['no_compatible_wheel', 'unsupported_package'];

/** The builds of one process. A spec has one build at a time, also between processes. */
export class Builds {
  readonly #options: BuildsOptions;
  readonly #running = new Map<string, { done: Promise<void>; listeners: Set<(step: string) => void> }>();
  readonly #closing = new AbortController();

  constructor(options: BuildsOptions) {
    this.#options = options;
  }

  /** Builds a spec, or waits for the process that builds it. Writes the outcome to the records. */
  async build(specHash: string, { refresh, progress }: Wanted): Promise<void> {
    const running = this.#running.get(specHash);
    if (running !== undefined) {
      running.listeners.add(progress);
      return running.done;
    }
    const listeners = new Set([progress]);
    const tell = (step: string): void => listeners.forEach((listener) => listener(step));
    const done = this.#claimed(specHash, { refresh, progress: tell }).finally(() =>
      this.#running.delete(specHash),
    );
    this.#running.set(specHash, { done, listeners });
    return done;
  }

  /** Stops all builds of this process and releases their claims. */
  async close(): Promise<void> {
    this.#closing.abort(new ImageError('provider_error', 'the process ends'));
    await Promise.allSettled([...this.#running.values()].map(({ done }) => done));
  }

  async #claimed(specHash: string, wanted: Wanted): Promise<void> {
    const { records, runtimes, clock } = this.#options;
    const row = records.spec(specHash);
    if (row === undefined) return;
    const runtime = await runtimes.for(row);
    const claim: Claim = { specHash, runtimeKey: runtime.key, owner: randomUUID() };
    const { refresh } = wanted;
    for (let waited = false; ; waited = true) {
      const got = claimBuild(records, claim, { nowMs: clock.now(), refresh });
      if (got === 'ready') return;
      if (got === 'claimed') break;
      if (!waited) wanted.progress('waiting for another process that builds the same');
      await clock.sleep(LOOK_MS, this.#closing.signal);
      // The other process' outcome counts; an interrupted build is claimed by this one.
      if (
        !isClaimed(records, specHash, runtime.key, clock.now()) &&
        hasEnded(records.build(specHash, runtime.key))
      )
        return;
    }
    await this.#run(claim, runtime, wanted.refresh ? null : row.lock, wanted.progress);
  }

  async #run(
    claim: Claim,
    runtime: Runtime,
    lock: Lock | null,
    progress: (step: string) => void,
  ): Promise<void> {
    const { records, timeoutMs } = this.#options;
    const lost = new AbortController();
    const deadline = new AbortController();
    const minutes = Math.ceil(timeoutMs / 60_000);
    const timer = setTimeout(
      () =>
        deadline.abort(
          new ImageError(
            'build_timeout',
            `The build took more than ${minutes} minutes: give it more time (buildTimeoutMs, or --timeout of heddle sandbox build).`,
          ),
        ),
      timeoutMs,
    );
    const heartbeat = setInterval(() => {
      if (!this.#isOwner(claim))
        lost.abort(new ImageError('provider_error', 'another process took the build over'));
    }, HEARTBEAT_MS);
    try {
      const signal = AbortSignal.any([deadline.signal, lost.signal, this.#closing.signal]);
      const { result, by } = await this.#attempt(claim, { runtime, lock, signal, progress });
      if (this.#closing.signal.aborted && 'code' in result) releaseClaim(records, claim);
      else if (!lost.signal.aborted) this.#record(claim, result, by);
    } catch (error) {
      // An outcome that cannot be recorded is lost, so others need not wait for the claim to expire.
      this.#release(claim);
      throw error;
    } finally {
      clearTimeout(timer);
      clearInterval(heartbeat);
    }
  }

  #release(claim: Claim): void {
    try {
      releaseClaim(this.#options.records, claim);
    } catch {
      // The index cannot be written; the claim expires.
    }
  }

  /** Renews the claim. Returns whether this process still holds it. */
  #isOwner(claim: Claim): boolean {
    const { records, clock } = this.#options;
    try {
      return renewClaim(records, claim, clock.now());
    } catch {
      // The disk is full or the index is locked for long: a claim outlives a few heartbeats, and the next one may succeed.
      return true;
    }
  }

  async #attempt(
    { specHash }: Claim,
    order: { runtime: Runtime; lock: Lock | null; signal: AbortSignal; progress: (step: string) => void },
  ): Promise<{ result: Built | BuildFailure; by: Runtime }> {
    const { records, runtimes, environment } = this.#options;
    const { runtime, lock, signal, progress } = order;
    const spec = records.spec(specHash)?.spec;
    if (spec === undefined)
      return {
        result: { code: 'provider_error', message: 'The spec was removed.', detail: '' },
        by: runtime,
      };
    const make = ({ builder, key }: Runtime, from: Lock | null): Promise<Built | BuildFailure> =>
      buildImage({ spec, builder, runtimeKey: key, lock: from }, environment, signal, progress);
    const result = await make(runtime, lock);
    if (
      !('code' in result) ||
      !FOR_NATIVE.includes(result.code) ||
      runtime.kind === 'native' ||
      !runtimes.hasNative
    )
      return { result, by: runtime };
    progress('building for the native runtime');
    const native = await runtimes.of('native');
    const second = await make(native, null);
    if (!('code' in second)) return { result: second, by: native };
    const message = `${result.message} The native runtime cannot take it either: ${second.message}`;
    return { result: { ...result, message, detail: second.detail || result.detail }, by: runtime };
  }

  /** Writes the outcome: the image, the lock, the state, in one transaction. */
  #record(claim: Claim, result: Built | BuildFailure, by: Runtime): void {
    const { records, clock } = this.#options;
    const nowMs = clock.now();
    records.atomically(() => {
      // Another process claimed the build meanwhile: this lock does not belong to its image.
      if (!renewClaim(records, claim, nowMs)) return false;
      // The spec was removed meanwhile.
      if (records.spec(claim.specHash) === undefined) return deleteBuild(records, claim);
      if ('code' in result) return recordOutcome(records, claim, { imageId: null, error: result }, nowMs);
      const { manifest, lock } = result;
      records.change(
        `INSERT INTO images (id, manifest) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET manifest = excluded.manifest, unused_since = NULL`,
        manifest.id,
        JSON.stringify(manifest),
      );
      records.change(
        'UPDATE specs SET lock = ?, builder = ? WHERE spec_hash = ?',
        JSON.stringify(lock),
        by.kind,
        claim.specHash,
      );
      if (by.key !== claim.runtimeKey) this.#recordFor(claim.specHash, by.key, manifest.id, nowMs);
      return recordOutcome(records, claim, { imageId: manifest.id, error: null }, nowMs);
    });
  }

  /** Records the image for the runtime that built it too: later requests ask for that runtime. */
  #recordFor(specHash: string, runtimeKey: string, imageId: string, nowMs: number): void {
    this.#options.records.change(
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
