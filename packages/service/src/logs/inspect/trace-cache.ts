import type { Span } from '@heddle/core/run';
import type { Engine } from '@heddle/engine';
import { walkSpans } from '../spans.ts';
import type { LogRow } from '../tables.ts';
import { traceOf } from '../views.ts';

/** Time for which a trace is cached after its last use, for a reader who requests further pages. */
const TTL_MS = 60_000;
/** Time for which the further pages of an unfinished run are taken from the trace that was built for its first page. */
const NEXT_PAGE_TTL_MS = 5000;
/** Maximum number of spans of all cached traces. */
const MAX_SPANS = 200_000;
const MAX_TRACES = 20;

interface CachedTrace {
  root: Span;
  spanCount: number;
  usedAtMs: number;
  builtAtMs: number;
  /** Whether the run has not ended, so that its trace can change. */
  isUnfinished: boolean;
}

/**
 * Caches the most recently read traces, so that further pages of a large run do not build its whole trace again.
 * Traces of ended runs do not change.
 */
export class TraceCache {
  readonly #engine: Pick<Engine, 'getTrace'>;
  readonly #now: () => number;
  /** By the engine's id of the run; the least recently used trace is first. */
  readonly #cache = new Map<string, CachedTrace>();
  /** Traces of ended runs that are being read. Concurrent requests share them. */
  readonly #pending = new Map<string, Promise<Span | undefined>>();

  constructor(engine: Pick<Engine, 'getTrace'>, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /**
   * Returns the trace of the run; undefined if it was deleted in the meantime. `isNextPage`: the trace of the previous
   * page may be returned again, even if the run can still change.
   */
  async read(
    { engine_id: id, ended_ms: endedMs, status }: LogRow,
    { isNextPage = false } = {},
  ): Promise<Span | undefined> {
    const nowMs = this.#now();
    for (const [key, { usedAtMs }] of this.#cache) if (nowMs - usedAtMs > TTL_MS) this.#cache.delete(key);
    const isUnfinished = endedMs === null || status === 'redacting';
    const cached = this.#cache.get(id);
    if (
      cached &&
      (!cached.isUnfinished || (isNextPage && isUnfinished && nowMs - cached.builtAtMs <= NEXT_PAGE_TTL_MS))
    ) {
      this.#store(id, { ...cached, usedAtMs: nowMs, isUnfinished });
      return cached.root;
    }
    return isUnfinished ? this.#build(id, { isUnfinished, nowMs }) : this.#buildOnce(id, nowMs);
  }

  #buildOnce(id: string, nowMs: number): Promise<Span | undefined> {
    const pendingTrace = this.#pending.get(id) ?? this.#build(id, { isUnfinished: false, nowMs });
    this.#pending.set(id, pendingTrace);
    return pendingTrace.finally(() => this.#pending.delete(id));
  }

  async #build(
    id: string,
    { isUnfinished, nowMs }: { isUnfinished: boolean; nowMs: number },
  ): Promise<Span | undefined> {
    const root = await traceOf(this.#engine, id);
    if (root)
      this.#store(id, { root, spanCount: countSpans(root), usedAtMs: nowMs, builtAtMs: nowMs, isUnfinished });
    return root;
  }

  #store(id: string, trace: CachedTrace): void {
    this.#cache.delete(id);
    if (trace.spanCount > MAX_SPANS) return;
    this.#cache.set(id, trace);
    let total = [...this.#cache.values()].reduce((sum, { spanCount }) => sum + spanCount, 0);
    for (const [key, { spanCount }] of this.#cache) {
      if (total <= MAX_SPANS && this.#cache.size <= MAX_TRACES) return;
      this.#cache.delete(key);
      total -= spanCount;
    }
  }
}

function countSpans(root: Span): number {
  let count = 0;
  for (const _span of walkSpans(root)) count += 1;
  return count;
}
