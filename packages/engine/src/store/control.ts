import { randomUUID } from 'node:crypto';
import { isEngineError } from '@heddle/core';
import type { Clock, Json } from '@heddle/core';
import { parseStored } from './errors.ts';

export type ControlKind = 'cancel' | 'resume';

/** A request to the process that executes a run. It is stored, so `payload` must not contain secrets. */
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
 * Handles a request and returns the value for the requester. A thrown error rejects the request. Undefined leaves the
 * request open, for a later check or another owner.
 */
export type ControlHandler = (request: ControlRequest) => Promise<Json | undefined> | Json | undefined;

/** Requests from any process to the process that executes a run. */
export interface RequestStore {
  /** Stores the request and returns its id. */
  add(request: NewControlRequest): Promise<string>;
  /** Returns the outcome; undefined while the request is open. */
  outcome(id: string): Promise<ControlOutcome | undefined> | ControlOutcome | undefined;
}

/**
 * Requests to the owner of a data folder.
 *
 * 1. A request stays open until it has an outcome: without an owner, the next owner handles it.
 * 2. An owner handles a request once. If it dies before it writes the outcome, the next owner handles the request
 *    again, so handlers must be idempotent (cancel and resume are).
 */
export interface ControlStore extends RequestStore {
  outcome(id: string): ControlOutcome | undefined;
  /**
   * Handles the open requests and all later ones. The returned function stops the service, and waits for requests in
   * progress.
   */
  serve(handle: ControlHandler): () => Promise<void>;
}

/** Outcomes are deleted this long after their requests: no requester waits longer. */
export const OUTCOME_RETENTION_MS = 24 * 60 * 60 * 1000;

const OUTCOME_POLL_MS = 25;

/** Adds the request and waits for its outcome; undefined after `timeoutMs` without one. The request then stays open. */
export async function sendControlRequest(
  control: ControlStore,
  request: NewControlRequest,
  wait: { clock: Clock; timeoutMs: number },
): Promise<{ id: string; outcome: ControlOutcome | undefined }> {
  const id = await control.add(request);
  const endMs = wait.clock.now() + wait.timeoutMs;
  for (;;) {
    const outcome = control.outcome(id);
    const nowMs = wait.clock.now();
    if (outcome || nowMs >= endMs) return { id, outcome };
    await new Promise<void>((resolve) => {
      wait.clock.at(Math.min(nowMs + OUTCOME_POLL_MS, endMs), resolve);
    });
  }
}

/** A request as stored in a database: `payload` is JSON text. */
export type ControlRow = Omit<ControlRequest, 'payload'> & { payload: string };

/** Returns the row for a new request, with a new id. */
export function toControlRow({ runId, kind, payload }: NewControlRequest, createdMs: number): ControlRow {
  return { id: randomUUID(), runId, kind, payload: JSON.stringify(payload), createdMs };
}

/** Returns the request in a row. Throws JOURNAL_CORRUPT. */
export function readControlRow(row: ControlRow): ControlRequest {
  return { ...row, payload: parseStored<Json>(row.payload, `request "${row.id}"`) };
}

/** Returns the outcome that is stored as `text`; undefined while the column is empty. Throws JOURNAL_CORRUPT. */
export function readOutcome(id: string, text: unknown): ControlOutcome | undefined {
  return typeof text === 'string' ? parseStored(text, `outcome of request "${id}"`) : undefined;
}

interface ControlServerParts {
  /** Stores the outcome of a request. */
  settle(id: string, outcome: ControlOutcome): Promise<void>;
  /** Receives the error when an outcome could not be stored. */
  onError(error: unknown): void;
  handle: ControlHandler;
}

/**
 * Calls the handler for each open request, concurrently, and stores the outcomes. Calls it again for a request only if
 * the handler left the request open.
 */
export class ControlServer {
  readonly #parts: ControlServerParts;
  readonly #inProgress = new Map<string, Promise<void>>();
  readonly #unsaved = new Map<string, ControlOutcome>();
  #isStopped = false;

  constructor(parts: ControlServerParts) {
    this.#parts = parts;
  }

  /** True while there are outcomes that could not be stored. */
  get hasUnsavedOutcomes(): boolean {
    return this.#unsaved.size > 0;
  }

  /** Handles the open requests that are not in progress, oldest first, and retries the storing of outcomes. */
  check(openRequests: readonly ControlRequest[]): void {
    if (this.#isStopped) return;
    for (const [id, outcome] of this.#unsaved) this.#inProgress.set(id, this.#save(id, outcome));
    for (const request of openRequests) {
      if (!this.#inProgress.has(request.id)) this.#inProgress.set(request.id, this.#process(request));
    }
  }

  /** Ignores later checks, and waits for requests in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#inProgress.values());
  }

  async #process(request: ControlRequest): Promise<void> {
    const outcome = await outcomeOf(this.#parts.handle, request);
    if (outcome) await this.#save(request.id, outcome);
    else this.#inProgress.delete(request.id);
  }

  /** Keeps an outcome that cannot be stored: the next check stores it without calling the handler again. */
  async #save(id: string, outcome: ControlOutcome): Promise<void> {
    this.#unsaved.delete(id);
    try {
      await this.#parts.settle(id, outcome);
      this.#inProgress.delete(id);
    } catch (error) {
      this.#unsaved.set(id, outcome);
      this.#parts.onError(error);
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
