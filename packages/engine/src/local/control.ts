import { EngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { EngineParts } from '../parts.ts';
import type { ControlRequest } from '../store/control.ts';
import { resumeRun } from './resume.ts';

type Parts = Pick<EngineParts, 'stores' | 'runtime' | 'registry' | 'values' | 'clock'>;

/** Answers what other processes ask of the one that runs the data folder; the returned function stops. */
export function serveControl(parts: Parts): () => Promise<void> {
  return parts.stores.control.serve((request) => answer(parts, request));
}

async function answer(parts: Parts, request: ControlRequest): Promise<Json> {
  const { runId, kind } = request;
  const payload = isJsonObject(request.payload) ? request.payload : {};
  if (kind === 'cancel') return { cancelled: await cancel(parts, runId, payload['reason']) };
  const token = payload['token'];
  await resumeRun(parts, runId, {
    input: payload['input'] ?? {},
    ...(typeof token === 'string' && { token }),
  });
  return { resumed: true };
}

async function cancel(parts: Parts, runId: string, reason: Json | undefined): Promise<boolean> {
  const run = await parts.runtime.open(runId);
  if (!run) {
    if (await parts.stores.runs.header(runId)) return false;
    throw new EngineError('RUN_NOT_FOUND', `There is no run ${runId}.`);
  }
  const over = run.over();
  run.cancel(typeof reason === 'string' ? reason : undefined);
  await over;
  return true;
}
