import type { RunReplica } from './run-replica.ts';
import type { Position } from './position.ts';
import type { Segment } from './segment.ts';

/** A detached segment that is not claimed within this time is stopped: another worker then runs its blocks. */
const CLAIM_TIMEOUT_MS = 10_000;

interface DetachedSegment {
  segment: Segment;
  runReplica: RunReplica;
  lastItemId: string;
  timer: NodeJS.Timeout;
}

/** Segments that exceeded their time limit and continue until the next request of their run claims them. */
export class DetachedSegments {
  readonly #segmentsByRun = new Map<string, DetachedSegment>();

  /**
   * Keeps `segment` running. `lastItemId`: id of the `JournalItem` that will contain the segment's entries so far; if
   * there are none, id of the last item before the segment.
   */
  add(segment: Segment, runReplica: RunReplica, lastItemId: string): void {
    const { runId } = runReplica.header;
    this.#stop(runId);
    const timer = setTimeout(() => this.#stop(runId), CLAIM_TIMEOUT_MS);
    timer.unref();
    this.#segmentsByRun.set(runId, { segment, runReplica, lastItemId, timer });
  }

  /** Returns the run's segment if it continues exactly at `position`. A segment at another position is stopped. */
  claim(runId: string, { tip }: Position): { segment: Segment; runReplica: RunReplica } | undefined {
    const detachedSegment = this.#segmentsByRun.get(runId);
    if (!detachedSegment) return undefined;
    if (detachedSegment.lastItemId !== tip) {
      this.#stop(runId);
      return undefined;
    }
    clearTimeout(detachedSegment.timer);
    this.#segmentsByRun.delete(runId);
    return detachedSegment;
  }

  #stop(runId: string): void {
    const detachedSegment = this.#segmentsByRun.get(runId);
    if (!detachedSegment) return;
    clearTimeout(detachedSegment.timer);
    this.#segmentsByRun.delete(runId);
    detachedSegment.segment.halt();
  }
}
