import type { Json } from '@heddle/core';
import type { LiveRun } from '../../runtime-port.ts';
import { isHeldByAnother } from '../../store/leases.ts';
import type { RunEvent } from '../../types.ts';
import type { EventPosition } from '../../records/follow.ts';
import type { ActiveRun } from '../local/active-run.ts';
import { LocalRuntime } from '../local/local-runtime.ts';
import type { LocalDependencies } from '../local/local-runtime.ts';
import { seqIn } from './peer-runs.ts';
import type { PeerRuns } from './peer-runs.ts';

/**
 * The runtime of a process that shares a database with others: executes the runs that this process owns, and sends
 * requests for other runs to their owners.
 */
export class LeasedRuntime extends LocalRuntime {
  readonly #peers: PeerRuns;

  constructor(dependencies: LocalDependencies, peers: PeerRuns) {
    super(dependencies);
    this.#peers = peers;
  }

  /** Returns the live run, whose promise and events continue even if another process takes over the run. */
  protected override toLiveRun(run: ActiveRun, startPosition: EventPosition): LiveRun {
    const localRun = super.toLiveRun(run, startPosition);
    const { runId } = localRun;
    return {
      runId,
      whenIdle: async () => {
        try {
          await localRun.whenIdle();
        } catch (error) {
          if (!isHeldByAnother(error, runId)) throw error;
          await this.#peers.whenIdle(runId, run.lastNotifiedSeq);
        }
      },
      events: () => this.#eventsAcrossOwners(localRun.events(), run, startPosition),
    };
  }

  async *#eventsAcrossOwners(
    localEvents: AsyncIterable<RunEvent>,
    run: ActiveRun,
    startPosition: EventPosition,
  ): AsyncGenerator<RunEvent> {
    let position = startPosition;
    try {
      for await (const event of localEvents) {
        const { emissionNumber } = position;
        position = {
          seq: run.lastNotifiedSeq,
          emissionNumber: event.type === 'block:emission' ? event.number : emissionNumber,
        };
        yield event;
      }
    } catch (error) {
      if (!isHeldByAnother(error, run.runId)) throw error;
      yield* this.#peers.events(run.runId, position);
    }
  }

  override async open(runId: string): Promise<LiveRun | undefined> {
    try {
      return await super.open(runId);
    } catch (error) {
      if (!isHeldByAnother(error)) throw error;
      return this.#peers.open(runId);
    }
  }

  override async resume(runId: string, { token, input }: { token?: string; input?: Json }): Promise<void> {
    const openToken = token ?? (await this.#onlyOpenToken(runId));
    const answer = {
      ...(openToken !== undefined && { token: openToken }),
      ...(input !== undefined && { input }),
    };
    await this.#peers.request(
      { runId, kind: 'resume', payload: answer },
      () => super.resume(runId, answer),
      (outcome) => this.#peers.whenIdle(runId, seqIn(outcome)),
    );
  }

  /**
   * Returns the token of the pause that waits for a person, if there is exactly one. With the token, a request that is
   * executed twice cannot resume the next pause.
   */
  async #onlyOpenToken(runId: string): Promise<string | undefined> {
    const { pauses = [] } = (await this.readRun(runId))?.record ?? {};
    const openPauses = pauses.filter(({ kind }) => kind === 'human');
    return openPauses.length === 1 ? openPauses[0]?.token : undefined;
  }

  override cancel(runId: string, reason: string | undefined): Promise<boolean> {
    // The request is stored only if the run is open. If it is executed twice, the second execution finds the run ended,
    // so the result is read from the run's record, not from the outcome of the request.
    const isCancelled = async (): Promise<boolean> =>
      (await this.readRun(runId))?.record.status === 'cancelled';
    return this.#peers.request(
      { runId, kind: 'cancel', payload: reason === undefined ? {} : { reason } },
      async (isRepeated) => (await super.cancel(runId, reason)) || (isRepeated && (await isCancelled())),
      isCancelled,
    );
  }
}
