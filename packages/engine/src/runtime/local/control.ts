import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { EngineParts } from '../../parts.ts';
import type { Runtime } from './run-registry.ts';
import type { ControlRequest } from '../../store/control.ts';
import type { Stores } from '../../store/stores.ts';
import { resumeRun } from './resume.ts';

type AnswerParts = Pick<EngineParts, 'stores' | 'registry' | 'values' | 'clock'> & { runtime: Runtime };
type Parts = AnswerParts & { stores: Stores };

/**
 * Answers what other processes ask of the one that runs the data folder; the returned function stops. An engine that
 * does not take runs up (`takeUp` false) moves none but its own: other resumes are left to the next owner.
 */
export function serveControl(parts: Parts, takeUp: boolean): () => Promise<void> {
  return parts.stores.control.serve((request) =>
    takeUp || request.kind === 'cancel' || parts.runtime.isOwn(request.runId)
      ? answer(parts, request)
      : undefined,
  );
}

/** Does what the request asks for; `seq` of a resume: the entries of the journal by which it is recorded. */
export async function answer(parts: AnswerParts, request: ControlRequest): Promise<Json> {
  const { runId, kind } = request;
  const payload = isJsonObject(request.payload) ? request.payload : {};
  const { reason, token, input = {} } = payload;
  if (kind === 'cancel')
    return { cancelled: await parts.runtime.cancel(runId, typeof reason === 'string' ? reason : undefined) };
  const seq = await resumeRun(
    parts,
    runId,
    { input, ...(typeof token === 'string' && { token }) },
    async (run) => run?.told ?? 0,
  );
  return { resumed: true, seq };
}
