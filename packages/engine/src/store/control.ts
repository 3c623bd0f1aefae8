import { randomUUID } from 'node:crypto';
import { isEngineError } from '@heddle/core';
import type { Clock, Json } from '@heddle/core';
import { polls } from '../clock.ts';
import { parseStoredJson } from './errors.ts';

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
 * Handles a request and returns the value for the requester. A thrown error rejects the request. If the handler returns
 * undefined, the request stays open for a later check or another owner.
 */
export type ControlHandler = (request: ControlRequest) => Promise<Json | undefined> | Json | undefined;

/**
 * Requests from any process to the process that executes a run.
 *
 * 1. A request stays open until it has an outcome: if no process owns the run, its next owner handles the request.
 * 2. A request may be handled twice: if an owner dies before it stores the outcome, the next owner handles the request
 *    again. Handlers must therefore be idempotent (cancel and resume are).
 */
export interface RequestStore {
  /** Stores the request and returns its id. */
  add(request: NewControlRequest): Promise<string>;
  /** Returns the outcome; undefined while the request is open. */
  outcome(id: string): Promise<ControlOutcome | undefined> | ControlOutcome | undefined;
  /** Returns the open requests, oldest first. `owner`: id of a process; returns only requests for runs that it owns. */
  openRequests(owner?: string): Promise<ControlRequest[]> | ControlRequest[];
  /** Stores the outcome of a request that has none yet. */
  settle(id: string, outcome: ControlOutcome): Promise<void>;
  /** Removes the request and its outcome. */
  remove(id: string): Promise<void>;
  /** Removes old requests, whose requesters died before they removed them. */
  prune(): Promise<void>;
}

/** Requests to the process that owns a data folder and all its runs. `prune` keeps open requests for the next owner. */
export interface ControlStore extends RequestStore {
  /** Calls `onRequest` when there may be a new request, until the returned function is called. */
  watch(onRequest: () => void): () => void;
}

/** Outcomes are deleted this long after their requests: no requester waits longer. */
export const OUTCOME_RETENTION_MS = 24 * 60 * 60 * 1000;

/** Returns the outcome of a request; undefined after `timeoutMs` without one. */
export async function waitForOutcome(
  requests: Pick<RequestStore, 'outcome'>,
  id: string,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Promise<ControlOutcome | undefined> {
  for await (const _ of polls(clock, timeoutMs)) {
    const outcome = await requests.outcome(id);
    if (outcome) return outcome;
  }
  return undefined;
}

/** A request as stored in a database: `payload` is JSON text. */
export type ControlRow = Omit<ControlRequest, 'payload'> & { payload: string };

/** Returns the row for a new request, with a new id. */
export function toControlRow({ runId, kind, payload }: NewControlRequest, createdMs: number): ControlRow {
  return { id: randomUUID(), runId, kind, payload: JSON.stringify(payload), createdMs };
}

/** Returns the request in a row. Throws JOURNAL_CORRUPT. */
export function readControlRow(row: ControlRow): ControlRequest {
  return { ...row, payload: parseStoredJson<Json>(row.payload, `request "${row.id}"`) };
}

/** Returns the outcome that is stored as `text`; undefined while the column is empty. Throws JOURNAL_CORRUPT. */
export function readOutcome(id: string, text: unknown): ControlOutcome | undefined {
  return typeof text === 'string' ? parseStoredJson(text, `outcome of request "${id}"`) : undefined;
}

interface ControlServerOptions {
  requests: Pick<RequestStore, 'openRequests' | 'settle'>;
  /** Receives the errors of the store. */
  onError(error: unknown): void;
  handle: ControlHandler;
}

/**
 * Calls the handler for each open request, concurrently, and stores the outcomes. Calls it again for a request only if
 * the handler left the request open.
 */
export class ControlServer {
  readonly #options: ControlServerOptions;
  readonly #requestsInProgress = new Map<string, Promise<void>>();
  readonly #unsavedOutcomes = new Map<string, ControlOutcome>();
  /** For each read of the open requests that is in progress: the requests that were settled since it began. */
  readonly #settledIdSets = new Set<Set<string>>();
  #isStopped = false;

  constructor(options: ControlServerOptions) {
    this.#options = options;
  }

  /**
   * Starts to handle the open requests that are not in progress, oldest first, and stores the outcomes whose first
   * write failed. `owner`: id of a process; handles only requests for runs that it owns. Throws errors of the store.
   */
  async check(owner?: string): Promise<void> {
    const settledIds = new Set<string>();
    this.#settledIdSets.add(settledIds);
    let openRequests: ControlRequest[];
    try {
      openRequests = await this.#options.requests.openRequests(owner);
    } finally {
      this.#settledIdSets.delete(settledIds);
    }
    if (this.#isStopped) return;
    for (const [id, outcome] of this.#unsavedOutcomes)
      this.#requestsInProgress.set(id, this.#save(id, outcome));
    for (const request of openRequests) {
      if (!this.#requestsInProgress.has(request.id) && !settledIds.has(request.id))
        this.#requestsInProgress.set(request.id, this.#process(request));
    }
  }

  /** Ignores later checks, and waits for requests in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#requestsInProgress.values());
  }

  async #process(request: ControlRequest): Promise<void> {
    const outcome = await callHandler(this.#options.handle, request);
    if (outcome) await this.#save(request.id, outcome);
    else this.#requestsInProgress.delete(request.id);
  }

  /** Keeps an outcome that cannot be stored: the next check stores it without calling the handler again. */
  async #save(id: string, outcome: ControlOutcome): Promise<void> {
    this.#unsavedOutcomes.delete(id);
    try {
      await this.#options.requests.settle(id, outcome);
      for (const settledIds of this.#settledIdSets) settledIds.add(id);
      this.#requestsInProgress.delete(id);
    } catch (error) {
      this.#unsavedOutcomes.set(id, outcome);
      this.#options.onError(error);
    }
  }
}

/**
 * Handles the open requests and all later ones. Resolves once the open requests are in progress, with a function that
 * stops handling requests and waits for those in progress.
 */
export async function serveRequests(
  requests: ControlStore,
  { handle, onError }: Pick<ControlServerOptions, 'handle' | 'onError'>,
): Promise<() => Promise<void>> {
  const server = new ControlServer({ requests, handle, onError });
  const check = (): Promise<void> => server.check().catch(onError);
  const unwatch = requests.watch(() => void check());
  await check();
  return () => {
    unwatch();
    return server.stop();
  };
}

/** Calls the handler. Returns the outcome; undefined if the handler leaves the request open. */
async function callHandler(
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
