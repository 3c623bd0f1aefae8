import type { Follower } from './follower.ts';
import type { Position } from './position.ts';
import type { Segment } from './segment.ts';

/** A segment that nobody takes up within this time is stopped: its blocks run elsewhere by then. */
const PATIENCE_MS = 10_000;

interface Waiting {
  segment: Segment;
  follower: Follower;
  tip: string;
  timer: NodeJS.Timeout;
}

/** Segments that took too long for where they ran, and go on until they are taken up in a place with more time. */
export class Parked {
  private readonly waiting = new Map<string, Waiting>();

  /** Keeps `segment` going; `tip`: the item that what it has done so far is to become. */
  park(segment: Segment, follower: Follower, tip: string): void {
    const { runId } = follower.header;
    this.stop(runId);
    const timer = setTimeout(() => this.stop(runId), PATIENCE_MS);
    timer.unref();
    this.waiting.set(runId, { segment, follower, tip, timer });
  }

  /** The segment of the run that goes on just where `position` is; one that the run has moved on without is stopped. */
  take(runId: string, { tip }: Position): { segment: Segment; follower: Follower } | undefined {
    const found = this.waiting.get(runId);
    if (!found) return undefined;
    if (found.tip !== tip) {
      this.stop(runId);
      return undefined;
    }
    clearTimeout(found.timer);
    this.waiting.delete(runId);
    return found;
  }

  stop(runId: string): void {
    const found = this.waiting.get(runId);
    if (!found) return;
    clearTimeout(found.timer);
    this.waiting.delete(runId);
    found.segment.halt();
  }
}
