import type { Json, RunRecord } from '@heddle/core';
import type { EngineParts } from '../../parts.ts';
import type { LiveRun, RuntimePort } from '../../runtime-port.ts';
import type { RunEvent } from '../../types.ts';
import { runEvents } from './event-stream.ts';
import { resumeRun } from './resume.ts';
import type { ActiveRun } from './active-run.ts';
import type { Runtime } from './run-registry.ts';
import type { RunRequest } from '../../execution/run-start.ts';
import { storedRecord } from '../../records/stored-record.ts';
import type { Values } from '../../records/values.ts';

export type LocalParts = Omit<EngineParts, 'close' | 'httpClient' | 'runtime'> & { runtime: Runtime };

/** Runs in this process. */
export class LocalRuntime implements RuntimePort {
  protected readonly parts: LocalParts;

  constructor(parts: LocalParts) {
    this.parts = parts;
  }

  async start(request: RunRequest): Promise<LiveRun> {
    const run = await this.parts.runtime.start(request);
    if (request.signal) this.cancelWith(request.signal, run);
    return this.live(run);
  }

  /** The signal may outlive the run by far, and must not hold it. */
  private cancelWith(signal: AbortSignal, run: ActiveRun): void {
    if (run.ended()) return;
    const { runId } = run;
    const cancel = (): void => {
      // A run that cannot be cancelled has been reported, and its result rejects.
      this.cancel(runId, 'The caller aborted.').catch(() => undefined);
    };
    if (signal.aborted) return cancel();
    signal.addEventListener('abort', cancel, { once: true });
    const stop = run.listen((event) => {
      if (event.type !== 'rest' || event.rest !== 'ended') return;
      signal.removeEventListener('abort', cancel);
      stop();
    });
  }

  protected live(started: ActiveRun): LiveRun {
    const { values, clock, runtime } = this.parts;
    const { runId } = started;
    let held = started;
    const current = async (): Promise<ActiveRun | undefined> => {
      if (held.away) held = (await runtime.open(runId)) ?? held;
      return held.away ? undefined : held;
    };
    const now = (): number => clock.now();
    return {
      runId,
      rested: () => (held.away ? current().then((run) => run?.rested()) : held.rested()),
      events: () => (held.away ? laterEvents(current, values, now) : runEvents(held, values, now)),
    };
  }

  async open(runId: string): Promise<LiveRun | undefined> {
    const run = await this.parts.runtime.open(runId);
    return run && this.live(run);
  }

  record(runId: string): Promise<RunRecord | undefined> {
    const running = this.parts.runtime.running(runId);
    return running && !running.broken ? running.record() : storedRecord(this.parts, runId);
  }

  async saved(runId: string): Promise<void> {
    const run = this.parts.runtime.running(runId);
    // One that cannot go on has stored all that it could.
    if (run && !run.broken) await run.save();
  }

  async resume(runId: string, answer: { token?: string; input?: Json }): Promise<void> {
    await resumeRun(this.parts, runId, answer, async (run) => run?.rested());
  }

  cancel(runId: string, reason: string | undefined): Promise<boolean> {
    return this.parts.runtime.cancel(runId, reason);
  }
}

async function* laterEvents(
  current: () => Promise<ActiveRun | undefined>,
  values: Values,
  now: () => number,
): AsyncGenerator<RunEvent> {
  const run = await current();
  if (run) yield* runEvents(run, values, now);
}
