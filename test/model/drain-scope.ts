/**
 * A request of a run to its environment. `number` is the number of the attempt of a block, or of the iteration of a
 * container. `resumes` is the number of resumes of the attempt.
 */
export interface Call {
  type: 'run' | 'expand' | 'retry' | 'wait' | 'open' | 'grace';
  at: readonly number[];
  number: number;
  resumes?: number;
}

export type Answer =
  | { type: 'done'; port?: string }
  /** A failure. `permanent`: it is not retried. */
  | { type: 'failed' | 'permanent' }
  /** `continues`: the attempt continues when the pause is answered. */
  | { type: 'paused'; kind: 'open' | 'wait'; continues?: true }
  | { type: 'count'; count: number };

/** Answers the requests of a run. */
export interface Environment {
  ask(call: Call): Promise<Answer>;
  /** Cancels a call. */
  cancel(call: Call): void;
}

/** Thrown by all open calls of a drained scope. */
export const DRAINED = new Error('drained');

interface OpenCall {
  call: Call;
  /** True if the call gets a grace period when its scope is drained. */
  hasGrace: boolean;
  reject: (reason: unknown) => void;
}

/**
 * The part of a run that one failure ends: the run, a container with an error port, or a branch that collects its
 * error.
 */
export class DrainScope {
  drainReason: 'failed' | 'answered' | undefined;
  cause: readonly number[] | undefined;
  readonly parent: DrainScope | undefined;
  readonly #environment: Environment;
  readonly #graceMs: number;
  readonly #at: readonly number[];
  readonly #openCalls = new Set<OpenCall>();
  readonly #children = new Set<DrainScope>();

  constructor(environment: Environment, graceMs: number, at: readonly number[], parent?: DrainScope) {
    this.#environment = environment;
    this.#graceMs = graceMs;
    this.#at = at;
    this.parent = parent;
  }

  createInnerScope(at: readonly number[]): DrainScope {
    const scope = new DrainScope(this.#environment, this.#graceMs, at, this);
    this.#children.add(scope);
    return scope;
  }

  get root(): DrainScope {
    return this.parent?.root ?? this;
  }

  /** True if this scope, or one around it, is drained. */
  get isDrained(): boolean {
    return this.drainReason !== undefined || (this.parent?.isDrained ?? false);
  }

  async ask(call: Call, hasGrace: boolean): Promise<Answer> {
    if (this.isDrained) throw DRAINED;
    return this.#sendCall(call, hasGrace);
  }

  /** Aborts the open calls; those with a grace period, only when the period ends. Always throws `DRAINED`. */
  drain(drainReason: 'failed' | 'answered', cause: readonly number[]): never {
    this.drainReason = drainReason;
    this.cause = cause;
    this.#stop(({ hasGrace }) => !hasGrace);
    if (this.#graceMs === 0) this.#stop(() => true);
    else if (this.#isBusy())
      this.#sendCall({ type: 'grace', at: this.#at, number: 0 }, false).then(
        () => this.#stop(() => true),
        () => undefined, // The timer was cancelled: an outer scope drains, or no call is open.
      );
    throw DRAINED;
  }

  /** Ends the scope and aborts its open calls. */
  close(): void {
    this.#stop(() => true);
    if (this.parent) this.parent.#children.delete(this);
  }

  #sendCall(call: Call, hasGrace: boolean): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const openCall = { call, hasGrace, reject };
      this.#openCalls.add(openCall);
      void this.#environment.ask(call).then((answer) => {
        if (!this.#openCalls.delete(openCall)) return;
        if (this.isDrained && call.type !== 'grace') reject(DRAINED);
        else resolve(answer);
      });
    });
  }

  #stop(shouldStop: (openCall: OpenCall) => boolean): void {
    for (const openCall of [...this.#openCalls].filter(shouldStop)) {
      this.#openCalls.delete(openCall);
      this.#environment.cancel(openCall.call);
      openCall.reject(DRAINED);
    }
    for (const scope of this.#children) scope.#stop(shouldStop);
  }

  #isBusy(): boolean {
    return this.#openCalls.size > 0 || [...this.#children].some((scope) => scope.#isBusy());
  }
}
