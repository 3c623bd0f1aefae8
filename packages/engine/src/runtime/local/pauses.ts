import type { Json } from '@heddle/core';
import type { EntryBody, PausePoint, RunState } from '@heddle/core/run';
import { pausePointClosedError } from '../../records/run-errors.ts';
import type { Sanitizer } from '../../records/sanitizer.ts';
import type { PostListener, PostResult } from './driver.ts';

interface PausesDependencies {
  runState: RunState;
  sanitizer: Sanitizer;
  post: (body: EntryBody, listener: PostListener) => void;
  /** Returns the error that explains why the run accepts no more entries. */
  stopReason: () => Error;
}

/** The pause points of a run that wait for a person, and the resumes that are being recorded. */
export class Pauses {
  readonly #dependencies: PausesDependencies;
  /** The resumes that are being recorded, by token. */
  readonly #resumesInProgress = new Map<string, Promise<void>>();

  constructor(dependencies: PausesDependencies) {
    this.#dependencies = dependencies;
  }

  /** True while a resume is being recorded. */
  get isBusy(): boolean {
    return this.#resumesInProgress.size > 0;
  }

  /** Returns the open points, in the order in which they opened. */
  openPoints(): PausePoint[] {
    return [...this.#dependencies.runState.pauses.values()].filter((pause) => pause.kind === 'human');
  }

  /** Returns the open point with `token`; without a token, the only open point. */
  find(token: string | undefined): PausePoint | undefined {
    const points = this.openPoints();
    if (token === undefined) return points.length === 1 ? points[0] : undefined;
    return points.find((pause) => pause.token === token);
  }

  /** Returns the resume with this token that is being recorded. */
  resumeInProgress(token: string): Promise<void> | undefined {
    return this.#resumesInProgress.get(token);
  }

  /**
   * Records the resume of a point. A second resume of the same point is ignored. Throws RESUME_POINT_CLOSED if the run
   * has continued without the answer.
   */
  resume(point: PausePoint, input: Json, output: Json): Promise<void> {
    const resumeInProgress = this.#resumesInProgress.get(point.token);
    if (resumeInProgress) return resumeInProgress;
    const recording = this.#record(point, input, output).finally(() =>
      this.#resumesInProgress.delete(point.token),
    );
    this.#resumesInProgress.set(point.token, recording);
    return recording;
  }

  async #record(point: PausePoint, input: Json, output: Json): Promise<void> {
    const { runState, sanitizer, post, stopReason } = this.#dependencies;
    const label = `The answer to "${point.blockName}"`;
    const storedAnswer = await sanitizer.storeCallerValues({ input, output }, label);
    const place = { block: point.blockId, scope: point.scope };
    const result = await new Promise<PostResult>((resolve) =>
      post({ type: 'resumed', ...place, token: point.token, ...point.continues, ...storedAnswer }, resolve),
    );
    if (result === 'stopped') throw stopReason();
    if (result === 'ignored') throw pausePointClosedError(runState.runId);
  }
}
