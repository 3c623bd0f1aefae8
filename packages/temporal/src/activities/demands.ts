import { isEngineError } from '@heddle/core';
import type { Happening, Timed } from '@heddle/engine/runtime';
import { encode } from '../coded.ts';
import type { ChildDemand, Coded, Profile } from '../messages.ts';
import { runInputOf } from '../run-input.ts';

type Call = Happening['calls'][number];

/** The child runs to start, and what becomes of the blocks whose child cannot be: their failures. */
export function demandsOf(
  calls: readonly Call[],
  profile: Profile,
): { children: ChildDemand[]; entries: Timed[]; events: Coded[] } {
  const demands = { children: [] as ChildDemand[], entries: [] as Timed[], events: [] as Coded[] };
  for (const call of calls) {
    const { at, try: attempt, plan, header, first } = call;
    try {
      const input = runInputOf(plan, header, first, profile);
      demands.children.push({ at: [...at], try: attempt, input });
    } catch (error) {
      if (!isEngineError(error) || error.code !== 'OPTIONS_INVALID') throw error;
      const { entry, event } = failed(call, error.message);
      demands.entries.push(entry);
      demands.events.push(event);
    }
  }
  return demands;
}

/** The workflow that is called is larger than the server takes: trying again changes nothing. */
function failed({ at, try: attempt, header }: Call, message: string): { entry: Timed; event: Coded } {
  const { block = '', scope = [] } = header.parent ?? {};
  const atMs = header.createdMs;
  const error = { code: 'CHILD_FAILED', message, retryable: false };
  return {
    entry: { type: 'failed', atMs, block, scope, try: attempt, startedMs: atMs, error },
    event: encode({ type: 'failed', at: [...at], atMs, attempt, retryable: false }),
  };
}
