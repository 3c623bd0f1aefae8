import { createHash } from 'node:crypto';
import type { ChildOutcome, ChildRequest } from '../executors/services.ts';
import { key } from '@heddle/core/run';
import type { Place, Rest } from '@heddle/core/run';
import { isJsonObject } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { ActiveRun } from './run.ts';

/** Where child runs come from. */
export interface Children {
  /** The child as it runs; undefined when it has ended. */
  childRun(runId: string, call: ChildCall): Promise<ActiveRun | undefined>;
  childOutcome(runId: string): Promise<ChildOutcome>;
}

/** A block that runs a child, with the try that does. */
export interface ChildCall {
  parent: ActiveRun;
  place: Place;
  request: ChildRequest;
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

/** Runs the child to its end; its rests are its parent's, and its parent's cancel reaches it. */
export async function callChild(children: Children, call: ChildCall, attempt: number): Promise<ChildOutcome> {
  const { parent, place, signal } = call;
  const runId = childRunId(parent.runId, place, attempt);
  const child = await children.childRun(runId, call);
  if (!child) return children.childOutcome(runId);
  const cancel = (): void => child.cancel('The parent run was stopped.');
  signal.addEventListener('abort', cancel, { once: true });
  const tell = (rest: Rest): void => {
    const on = rest === 'human' || rest === 'time' ? rest : null;
    if (rest !== 'ended') parent.post({ type: 'blocked', ...place, childRunId: runId, on });
  };
  try {
    await new Promise<void>((resolve, reject) => {
      const stop = child.listen((event) => {
        if (event.type !== 'rest') return;
        tell(event.rest);
        if (event.error !== undefined) reject(event.error as Error);
        else if (event.rest === 'ended') resolve();
        else return;
        stop();
      });
      if (child.ended()) {
        stop();
        resolve();
      } else if (child.replica.rest() !== 'running') tell(child.replica.rest());
      if (signal.aborted) cancel();
    });
  } finally {
    signal.removeEventListener('abort', cancel);
  }
  return children.childOutcome(runId);
}

/** A child's output as its parent's block shows it. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
