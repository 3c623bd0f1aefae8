import { isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import { ApiError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { RunIds } from './ids.ts';
import { expectPresent } from './rules.ts';
import type { ExecuteBody } from './schemas.ts';
import { redactedMessage } from './redacted-message.ts';
import { sourceOf } from './start.ts';
import type { RunOrigin } from './start.ts';
import { RunStartedError } from './started.ts';

/**
 * The body with the files of its input kept and their records in place of them, before anything of the run is promised.
 * Throws 400 for a file that cannot be taken: that is recorded as the run's failure, and its id is used.
 */
export async function storeInputFiles(
  services: Services,
  origin: RunOrigin,
  body: ExecuteBody,
  { engineId, runId, signal, isPublic }: RunIds & { signal: AbortSignal; isPublic: boolean },
): Promise<ExecuteBody> {
  const source = body.input === undefined ? undefined : sourceOf(services, origin);
  if (!source) return body;
  const { workflow, ...place } = source;
  const { files, fileBytes: bytes } = services.publicInputs;
  const stored: string[] = [];
  const options = {
    ...place,
    signal,
    onStored: ({ key }: { key: string }): void => void stored.push(key),
    ...(isPublic && { limits: { files, bytes } }),
  };
  try {
    const input = await services.engine.takeFiles(workflow, body.input as Json, options);
    return { ...body, input: input as ExecuteBody['input'] };
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'INPUT_INVALID') throw error;
    expectPresent(signal);
    const why = await redactedMessage(services.engine, workflow, error.message, place);
    const message = `File processing failed: ${why}`;
    await services.store.reservations.fail(engineId, { reason: 'INVALID_INPUT', message });
    const details = { details: { runId }, headers: { 'X-Run-Id': runId } };
    throw new RunStartedError(new ApiError(400, message, details));
  } finally {
    if (isPublic && stored.length > 0) await services.store.publicRuns.addFiles(engineId, stored);
  }
}
