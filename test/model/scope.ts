/**
 * A request of a run to its world. `nth` is the attempt of a block or the iteration of a container, `resumes` the
 * number of resumes of the attempt.
 */
export interface Call {
  do: 'run' | 'expand' | 'retry' | 'wait' | 'open' | 'grace';
  at: readonly number[];
  nth: number;
  resumes?: number;
}

export type Answer =
  | { is: 'done'; port?: string }
  /** A failure. `final`: no retry can help. */
  | { is: 'failed' | 'final' }
  /** `continues`: the answer continues the attempt. */
  | { is: 'paused'; how: 'open' | 'wait'; continues?: true }
  | { is: 'count'; count: number };

export interface World {
  ask(call: Call): Promise<Answer>;
  /** Drops a call that was aborted. */
  drop(call: Call): void;
}

/** Thrown by all open calls of a drained scope. */
export const GIVEN_UP = new Error('given up');

interface Open {
  call: Call;
  /** True if the call gets a grace period when its scope is drained. */
  patient: boolean;
  reject: (reason: unknown) => void;
}

/** The part of a run that one failure ends: the run, a container with an error port, or a branch that collects its error. */
export class Scope {
  why: 'failed' | 'answered' | undefined;
  cause: readonly number[] | undefined;
  readonly parent: Scope | undefined;
  readonly #world: World;
  readonly #graceMs: number;
  readonly #at: readonly number[];
  readonly #open = new Set<Open>();
  readonly #inside = new Set<Scope>();

  constructor(world: World, graceMs: number, at: readonly number[], parent?: Scope) {
    this.#world = world;
    this.#graceMs = graceMs;
    this.#at = at;
    this.parent = parent;
  }

  inner(at: readonly number[]): Scope {
    const scope = new Scope(this.#world, this.#graceMs, at, this);
    this.#inside.add(scope);
    return scope;
  }

  get root(): Scope {
    return this.parent?.root ?? this;
  }

  /** True if this scope, or one around it, is drained. */
  get over(): boolean {
    return this.why !== undefined || (this.parent?.over ?? false);
  }

  async ask(call: Call, patient: boolean): Promise<Answer> {
    if (this.over) throw GIVEN_UP;
    return this.#listen(call, patient);
  }

  giveUp(why: 'failed' | 'answered', cause: readonly number[]): never {
    this.why = why;
    this.cause = cause;
    this.#stop(({ patient }) => !patient);
    if (this.#graceMs === 0) this.#stop(() => true);
    else if (this.#isBusy())
      this.#listen({ do: 'grace', at: this.#at, nth: 0 }, false).then(
        () => this.#stop(() => true),
        () => undefined, // replaced by an outer scope, or no longer needed
      );
    throw GIVEN_UP;
  }

  /** Ends the scope and aborts its open calls. */
  close(): void {
    this.#stop(() => true);
    if (this.parent) this.parent.#inside.delete(this);
  }

  #listen(call: Call, patient: boolean): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const open = { call, patient, reject };
      this.#open.add(open);
      void this.#world.ask(call).then((answer) => {
        if (!this.#open.delete(open)) return;
        if (this.over && call.do !== 'grace') reject(GIVEN_UP);
        else resolve(answer);
      });
    });
  }

  #stop(which: (open: Open) => boolean): void {
    for (const open of [...this.#open].filter(which)) {
      this.#open.delete(open);
      this.#world.drop(open.call);
      open.reject(GIVEN_UP);
    }
    for (const scope of this.#inside) scope.#stop(which);
  }

  #isBusy(): boolean {
    return this.#open.size > 0 || [...this.#inside].some((scope) => scope.#isBusy());
  }
}
