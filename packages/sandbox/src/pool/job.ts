import type { SandboxErrorCode, SandboxFailure } from '../outcome.ts';
import { failure } from '../outcome.ts';
import type { Allowance } from '../egress/types.ts';
import type { LoadedImage } from '../image.ts';
import type { Limits } from '../limits.ts';
import type { GuestMode, ChildMessage, UnitKind } from '../protocol.ts';

type Done = Extract<ChildMessage, { t: 'done' }>;

/** How a job ended, before its result is read. */
export type Ending = { readonly done: Done } | { readonly failure: SandboxFailure };

/** What a process serves. */
export function poolKeyOf(tenant: string, image: LoadedImage | null): string {
  return JSON.stringify([tenant, image?.id ?? null]);
}

/** A job on its way: queued, in a process, or ended. */
export class Job {
  readonly runId: string;
  readonly tenant: string;
  /** The image that its process has; null: none. */
  readonly image: LoadedImage | null;
  /** Which processes may serve it: those of its tenant that have its image. */
  readonly poolKey: string;
  readonly mode: GuestMode;
  /** What its text is. */
  readonly kind: UnitKind;
  readonly args: readonly (string | number)[];
  readonly limits: Limits;
  /** Since when the job waits for a process. */
  queuedAtMs = performance.now();
  /** Host calls issued so far: a job that made none can be run again unseen. */
  hostCalls = 0;
  /** Runs lost to a neighbour. */
  losses = 0;
  ended = false;
  /** Aborted when the job ends: whatever the host still does for it stops. */
  readonly stopped = new AbortController();
  /** What the responses of its requests may have together: more than the process lets in, so that its own limit is met first. */
  readonly allowance: Allowance;
  readonly #resolve: (ending: Ending) => void;
  readonly #cleanups: (() => void)[] = [];

  constructor(
    spec: Pick<Job, 'runId' | 'tenant' | 'mode' | 'kind' | 'args' | 'limits'> & {
      image?: LoadedImage | null;
    },
    resolve: (ending: Ending) => void,
  ) {
    this.runId = spec.runId;
    this.tenant = spec.tenant;
    this.image = spec.image ?? null;
    this.poolKey = poolKeyOf(spec.tenant, this.image);
    this.mode = spec.mode;
    this.kind = spec.kind;
    this.args = spec.args;
    this.limits = spec.limits;
    this.allowance = { leftBytes: 2 * spec.limits.bridgeChars };
    this.#resolve = resolve;
  }

  /** Registers work for the job's end. */
  onEnd(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  /** Ends the job; later endings are ignored. */
  end(ending: Ending): void {
    if (this.ended) return;
    this.ended = true;
    for (const cleanup of this.#cleanups) cleanup();
    if (this.hostCalls > 0) this.stopped.abort();
    this.#resolve(ending);
  }

  fail(code: SandboxErrorCode, message: string): void {
    this.end({ failure: failure(code, message) });
  }
}
