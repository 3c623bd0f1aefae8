import type { Json } from '@heddle/core';
import type { EntryBody, PausePoint, Replica } from '@heddle/core/run';
import type { Fate, Told } from './inbox.ts';
import type { Keeper } from '../../records/sanitizer.ts';
import { pointClosed } from '../../records/run-errors.ts';

interface PausesParts {
  replica: Replica;
  keeper: Keeper;
  post: (body: EntryBody, told: Told) => void;
  /** Why the run takes no entries any more. */
  stopped: () => Error;
}

/** The points of a run at which a person is asked, and the answers on their way. */
export class Pauses {
  private readonly parts: PausesParts;
  private readonly answers = new Map<string, Promise<void>>();

  constructor(parts: PausesParts) {
    this.parts = parts;
  }

  /** True while answers are being recorded. */
  get busy(): boolean {
    return this.answers.size > 0;
  }

  /** Open points, in the order in which they opened. */
  open(): PausePoint[] {
    return [...this.parts.replica.pauses.values()].filter((pause) => pause.kind === 'human');
  }

  /** The open point with `token`, or the only one. */
  find(token: string | undefined): PausePoint | undefined {
    const open = this.open();
    if (token === undefined) return open.length === 1 ? open[0] : undefined;
    return open.find((pause) => pause.token === token);
  }

  /** The answer with this token that is being recorded. */
  answering(token: string): Promise<void> | undefined {
    return this.answers.get(token);
  }

  /** Records the answer; a second one to the same point is the first. Throws RESUME_POINT_CLOSED when the run has moved on without it. */
  answer(point: PausePoint, input: Json, output: Json): Promise<void> {
    const known = this.answers.get(point.token);
    if (known) return known;
    const answering = this.submit(point, input, output).finally(() => this.answers.delete(point.token));
    this.answers.set(point.token, answering);
    return answering;
  }

  private async submit(point: PausePoint, input: Json, output: Json): Promise<void> {
    const { replica, keeper, post, stopped } = this.parts;
    const kept = await keeper.keepAll({ input, output }, `The answer to "${point.blockName}"`);
    const place = { block: point.blockId, scope: point.scope };
    const fate = await new Promise<Fate>((resolve) =>
      post({ type: 'resumed', ...place, token: point.token, ...kept }, resolve),
    );
    if (fate === 'stopped') throw stopped();
    if (fate === 'void') throw pointClosed(replica.runId);
  }
}
