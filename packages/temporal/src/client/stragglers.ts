import { isEngineError } from '@heddle/core';
import { RemoteRuns } from '@heddle/engine/runtime';
import type { RuntimeParts } from '@heddle/engine/runtime';
import type { Profile } from '../messages.ts';
import { runInputOf } from '../run-input.ts';
import type { Launcher } from './launcher.ts';

/** So often somebody looks for runs that nobody has started. */
const EVERY_MS = 15_000;
/** A run that is recorded is started within this time, if who has recorded it lives. */
const GIVEN_MS = 10_000;

interface StragglersParts {
  runtime: RuntimeParts;
  launcher: Pick<Launcher, 'start'>;
  profile: Profile;
}

/** Runs that were recorded and never started: who recorded them could not reach the server, or has died. */
export class Stragglers {
  private readonly parts: StragglersParts;
  private readonly runs: RemoteRuns;
  /** Open runs that are no affair of ours. */
  private known = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;
  private stopped = false;

  constructor(parts: StragglersParts) {
    this.parts = parts;
    this.runs = new RemoteRuns(parts.runtime);
  }

  /** Looks now and from time to time, until it is stopped. */
  watch(): void {
    this.looking = this.look().then(() => {
      if (this.stopped) return;
      this.timer = setTimeout(() => this.watch(), EVERY_MS);
      this.timer.unref();
    });
  }

  /** Resolves when nothing of this is under way any more. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.looking;
  }

  /** Starts those that there are. Never rejects: what stands against one is told, and a server that is away is tried again. */
  async look(): Promise<void> {
    const { runtime } = this.parts;
    const { stores } = runtime;
    try {
      const open = await stores.runs.open();
      const still = new Set(open);
      this.known = new Set([...this.known].filter((runId) => still.has(runId)));
      for (const runId of open) {
        if (this.stopped) return;
        if (!this.known.has(runId)) await this.take(runId);
      }
    } catch (error) {
      if (!this.stopped) runtime.report(error, undefined);
    }
  }

  private async take(runId: string): Promise<void> {
    const { runtime, launcher, profile } = this.parts;
    const due = await this.due(runId);
    if (due !== 'now') {
      if (due === 'never') this.known.add(runId);
      return;
    }
    try {
      const recorded = await this.runs.recorded(runId);
      if (recorded) await launcher.start(runInputOf(recorded.plan, recorded.header, recorded.first, profile));
      this.known.add(runId);
    } catch (error) {
      if (isEngineError(error) && error.code === 'RUNTIME_UNREACHABLE') throw error;
      this.known.add(runId);
      runtime.report(error, runId);
    }
  }

  /** Whether the run is to be started: `later`, when who has recorded it still may. */
  private async due(runId: string): Promise<'now' | 'later' | 'never'> {
    const { stores, clock } = this.parts.runtime;
    const record = await stores.runs.record(runId);
    // Whoever has begun with a run has written more into its record.
    if (record && record.seq > 1) return 'never';
    const header = await stores.runs.header(runId);
    // Children are started by their parents, runs of engines in one process by those.
    if (!header?.elsewhere || header.parent) return 'never';
    return record?.suspended !== undefined || clock.now() - header.createdMs > GIVEN_MS ? 'now' : 'later';
  }
}
