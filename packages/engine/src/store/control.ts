import { isEngineError } from '@heddle/core';
import type { Clock, Json } from '@heddle/core';

export type ControlKind = 'cancel' | 'resume';

/** What one process asks of the process that runs the data folder. It is stored: never put secrets into `payload`. */
export interface NewControlRequest {
  runId: string;
  kind: ControlKind;
  payload: Json;
}

export interface ControlRequest extends NewControlRequest {
  id: string;
  createdMs: number;
}

export type ControlOutcome =
  | { status: 'done'; value: Json }
  | { status: 'rejected'; code: string; message: string };

/**
 * Does what a request asks for and returns what the requester is told; an EngineError rejects the request. Undefined
 * leaves it open, for a later look or another owner.
 */
export type ControlHandler = (request: ControlRequest) => Promise<Json | undefined> | Json | undefined;

/**
 * Requests from any process to the one that runs the data folder.
 *
 * 1. A request stays until it has an outcome: with no owner, the next owner takes it.
 * 2. An owner takes a request once. One that died before it wrote the outcome leaves the request to the next owner,
 *    so handlers are idempotent (a cancel and a resume are).
 */
export interface ControlStore {
  /** Leaves the request; returns its id once it is stored. */
  add(request: NewControlRequest): Promise<string>;
  outcome(id: string): ControlOutcome | undefined;
  /** Takes the requests that stand and all that come. The returned function takes no more and waits for those in hand. */
  serve(handle: ControlHandler): () => Promise<void>;
}

const ANSWER_POLL_MS = 25;

/** The outcome of a request to the process that runs the data folder; undefined: none within `timeoutMs`, the request stays. */
export async function sendControlRequest(
  control: ControlStore,
  ask: NewControlRequest,
  wait: { clock: Clock; timeoutMs: number },
): Promise<{ id: string; outcome: ControlOutcome | undefined }> {
  const id = await control.add(ask);
  const endMs = wait.clock.now() + wait.timeoutMs;
  for (;;) {
    const outcome = control.outcome(id);
    const nowMs = wait.clock.now();
    if (outcome || nowMs >= endMs) return { id, outcome };
    await new Promise<void>((resume) => {
      wait.clock.at(Math.min(nowMs + ANSWER_POLL_MS, endMs), resume);
    });
  }
}

/** Where a service finds requests and leaves outcomes. */
export interface ControlTable {
  /** Told of an outcome that could not be written. */
  onError(error: unknown): void;
  /** Requests without an outcome, oldest first. */
  open(): ControlRequest[];
  settle(id: string, outcome: ControlOutcome): Promise<void>;
}

/** Hands every open request to the handler once, at the same time if there are several, and sees to the outcomes. */
export class ControlServer {
  readonly #table: ControlTable;
  readonly #handle: ControlHandler;
  readonly #taken = new Map<string, Promise<void>>();
  readonly #unsaved = new Map<string, ControlOutcome>();
  #stopped = false;

  constructor(table: ControlTable, handle: ControlHandler) {
    this.#table = table;
    this.#handle = handle;
  }

  /** True: outcomes wait for a disk that takes them. */
  get behind(): boolean {
    return this.#unsaved.size > 0;
  }

  check(): void {
    if (this.#stopped) return;
    for (const [id, outcome] of this.#unsaved) this.#taken.set(id, this.#save(id, outcome));
    for (const request of this.#table.open()) {
      if (!this.#taken.has(request.id)) this.#taken.set(request.id, this.#work(request));
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#taken.values());
  }

  async #work(request: ControlRequest): Promise<void> {
    const outcome = await outcomeOf(this.#handle, request);
    if (outcome) await this.#save(request.id, outcome);
    else this.#taken.delete(request.id);
  }

  /** An outcome that cannot be written is kept, so that the next check writes it without handling the request again. */
  async #save(id: string, outcome: ControlOutcome): Promise<void> {
    this.#unsaved.delete(id);
    try {
      await this.#table.settle(id, outcome);
      this.#taken.delete(id);
    } catch (error) {
      this.#unsaved.set(id, outcome);
      this.#table.onError(error);
    }
  }
}

async function outcomeOf(
  handle: ControlHandler,
  request: ControlRequest,
): Promise<ControlOutcome | undefined> {
  try {
    const value = await handle(request);
    return value === undefined ? undefined : { status: 'done', value };
  } catch (error) {
    const code = isEngineError(error) ? error.code : 'UNEXPECTED';
    return { status: 'rejected', code, message: error instanceof Error ? error.message : String(error) };
  }
}
