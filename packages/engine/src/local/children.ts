import { createHash } from 'node:crypto';
import { isBlockError, isEngineError } from '@heddle/core';
import type { EngineErrorCode } from '@heddle/core';
import { key } from '@heddle/core/run';
import type { Place, Rest } from '@heddle/core/run';
import type { ChildOutcome, ChildRequest } from '../executors/services.ts';
import { Fault } from './fault.ts';
import type { ActiveRun } from './run.ts';

/** Where child runs come from. */
export interface Children {
  /** The child as it runs; undefined when it has ended. */
  childRun(runId: string, call: ChildCall): Promise<ActiveRun | undefined>;
  childOutcome(runId: string): Promise<ChildOutcome>;
}

/** A block that runs a child. */
export interface ChildCall {
  parent: ActiveRun;
  place: Place;
  request: ChildRequest;
  /** Aborted with an EngineError when the parent only stops here, with any other error when it wants the child no more. */
  signal: AbortSignal;
}

/**
 * The id of a block's child run: the same for the same try of the same block, so that a parent that was taken up again
 * finds the child that it had started. Shaped as a UUID (version 8, RFC 9562).
 */
export function childRunId(parentRunId: string, place: Place, attempt: number): string {
  const hex = createHash('sha256')
    .update(`${parentRunId}\n${key(place)}\n${attempt}`)
    .digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Ids of the child runs that the run waits for. */
export function awaitedChildren({ runId, replica }: Pick<ActiveRun, 'runId' | 'replica'>): string[] {
  const { index } = replica;
  return replica
    .pending()
    .flatMap((command) =>
      command.type === 'run' && index.node(command.at).class === 'child'
        ? [childRunId(runId, index.placeOf(command.at), command.try)]
        : [],
    );
}

/** What the caller of a child has done wrong: it fails the block. Anything else stops the run. */
const REFUSALS: ReadonlySet<string> = new Set<EngineErrorCode>([
  'WORKFLOW_NOT_FOUND',
  'WORKFLOW_INVALID',
  'INPUT_INVALID',
  'OPTIONS_INVALID',
]);

/** Runs the child to its end; its rests are its parent's, and its parent's cancel reaches it. */
export async function callChild(children: Children, call: ChildCall, attempt: number): Promise<ChildOutcome> {
  const runId = childRunId(call.parent.runId, call.place, attempt);
  try {
    const child = await children.childRun(runId, call);
    if (child) await ended(child, call);
    return await children.childOutcome(runId);
  } catch (error) {
    throw childFault(error);
  }
}

/** What `error` of a child means to the block that called it: its own failure, or a Fault. */
export function childFault(error: unknown): unknown {
  const refused = isBlockError(error) || (isEngineError(error) && REFUSALS.has(error.code));
  return refused ? error : new Fault(error);
}

function ended(child: ActiveRun, { parent, place, signal }: ChildCall): Promise<void> {
  const tell = (rest: Rest): void => {
    const on = rest === 'human' || rest === 'time' ? rest : null;
    parent.post({ type: 'blocked', ...place, childRunId: child.runId, on });
    parent.heard(place);
    if (child.suspended !== undefined) parent.suspend(child.suspended);
  };
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      stop();
      signal.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      leave();
      const reason = signal.reason as Error;
      // The child reports by itself when it cannot be cancelled.
      if (!isEngineError(reason)) child.cancel('The parent run was stopped.').catch(() => undefined);
      reject(reason);
    };
    const stop = child.listen((event) => {
      if (event.type !== 'rest') return;
      if (event.error === undefined && event.rest !== 'ended') return tell(event.rest);
      leave();
      if (event.error === undefined) resolve();
      else reject(event.error);
    });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else if (child.ended() || child.broken) {
      leave();
      child.rested().then(resolve, reject);
    } else tell(child.replica.rest());
  });
}
