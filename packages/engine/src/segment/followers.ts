import type { RuntimeParts } from '../local/runtime-parts.ts';
import { Follower } from './follower.ts';
import type { Position } from './position.ts';

/** Runs that a process keeps at hand, those used last. */
const KEPT = 500;

/** The runs that this process follows. */
export class Followers {
  private readonly parts: RuntimeParts;
  /** Those that nobody changes, least recently used first. */
  private readonly idle = new Map<string, Follower>();
  private readonly catching = new Map<string, Promise<void>>();

  constructor(parts: RuntimeParts) {
    this.parts = parts;
  }

  /** The run at `position`, stored up to there; the caller's own until it is given back. */
  async take(runId: string, position: Position): Promise<Follower> {
    return this.caughtUp(runId, position, false);
  }

  /** The run at `position`, stored up to there, to be read only. */
  async look(runId: string, position: Position): Promise<Follower> {
    return this.caughtUp(runId, position, true);
  }

  give(follower: Follower): void {
    const { runId } = follower.header;
    this.idle.delete(runId);
    this.idle.set(runId, follower);
    for (const oldest of this.idle.keys()) {
      if (this.idle.size <= KEPT) return;
      this.idle.delete(oldest);
    }
  }

  drop(runId: string): void {
    this.idle.delete(runId);
  }

  /** One at a time for each run: who comes second finds what the first has read. */
  private async caughtUp(runId: string, position: Position, shared: boolean): Promise<Follower> {
    for (let other; (other = this.catching.get(runId));) await other;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.catching.set(runId, promise);
    try {
      const follower = this.idle.get(runId) ?? (await Follower.of(this.parts, runId));
      this.idle.delete(runId);
      await follower.catchUp(position);
      await follower.save();
      if (shared) this.give(follower);
      return follower;
    } finally {
      this.catching.delete(runId);
      resolve();
    }
  }
}
