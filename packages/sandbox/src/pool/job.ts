import type { JobErrorCode, SandboxFailure } from '../outcome.ts';
import { createFailure } from '../outcome.ts';
import type { ByteQuota } from '../egress/types.ts';
import type { LoadedImage } from '../image.ts';
import type { JobLimits } from '../limits.ts';
import type { GuestMode, ChildMessage, UnitKind } from '../protocol.ts';

type DoneMessage = Extract<ChildMessage, { t: 'done' }>;

/** The outcome of a job before its result is read and checked. */
export type RawOutcome = { readonly done: DoneMessage } | { readonly failure: SandboxFailure };

/** Returns the key of the processes that may serve a tenant's jobs with an image. */
export function poolKeyOf(tenant: string, image?: LoadedImage): string {
  return JSON.stringify([tenant, image?.id ?? null]);
}

/** A job: queued, in a process, or ended. */
export class Job {
  readonly runId: string;
  readonly tenant: string;
  /** The image of its process; undefined for none. */
  readonly image: LoadedImage | undefined;
  /** Selects the processes that may serve it: those of its tenant with its image. */
  readonly poolKey: string;
  readonly mode: GuestMode;
  /** The kind of its code. */
  readonly kind: UnitKind;
  readonly args: readonly (string | number)[];
  readonly limits: JobLimits;
  /** When it began to wait for a process. */
  queuedAtMs = performance.now();
  /** Host calls issued so far. A job without any can be retried, because it had no visible effects. */
  hostCallCount = 0;
  /** Number of times that it was lost because another job ended its process or its isolate. */
  lossCount = 0;
  hasEnded = false;
  /**
   * Aborted when a job with host calls ends, and when a native job is stopped: ends everything that the host does for
   * it.
   */
  readonly stopController = new AbortController();
  /**
   * Quota that the responses to all its requests share. Higher than the process's own limit, so that the latter applies
   * first.
   */
  readonly byteQuota: ByteQuota;
  readonly #resolve: (outcome: RawOutcome) => void;
  readonly #cleanups: (() => void)[] = [];

  constructor(
    spec: Pick<Job, 'runId' | 'tenant' | 'mode' | 'kind' | 'args' | 'limits'> & {
      image?: LoadedImage | undefined;
    },
    resolve: (outcome: RawOutcome) => void,
  ) {
    this.runId = spec.runId;
    this.tenant = spec.tenant;
    this.image = spec.image;
    this.poolKey = poolKeyOf(spec.tenant, this.image);
    this.mode = spec.mode;
    this.kind = spec.kind;
    this.args = spec.args;
    this.limits = spec.limits;
    this.byteQuota = { remainingBytes: 2 * spec.limits.bridgeChars };
    this.#resolve = resolve;
  }

  /** Registers a cleanup function for the end of the job. */
  onEnd(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  /** Ends the job. Later calls are ignored. */
  end(outcome: RawOutcome): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    for (const cleanup of this.#cleanups) cleanup();
    if (this.hostCallCount > 0) this.stopController.abort();
    this.#resolve(outcome);
  }

  fail(code: JobErrorCode, message: string): void {
    this.end({ failure: createFailure(code, message) });
  }
}
