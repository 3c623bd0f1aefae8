import type { AreaContext } from '../../context.ts';
import { isRunNotFound } from '../../errors.ts';
import { executionBody, executionResponse } from '../legacy/response.ts';
import { toPublicResult } from './public-result.ts';
import { resultOf, unstartedRun } from './views.ts';

type Services = Pick<AreaContext, 'engine' | 'reservations' | 'repeat'>;

/** Interval at which a run that no process has started yet is polled. */
const POLL_MS = 50;

/**
 * Waits for the end of a queued run, and returns its response as unauthenticated callers see it: the response of
 * its Response block, else its output. Returns undefined, and lets the run continue, if it has not ended after `waitMs`
 * or waits for a person.
 */
export async function waitForRunResponse(
  services: Services,
  engineRunId: string,
  { signal, waitMs }: { signal: AbortSignal; waitMs: number },
): Promise<Response | undefined> {
  const deadline = new AbortController();
  const stop = services.repeat(waitMs, () => deadline.abort());
  const waitSignal = AbortSignal.any([signal, deadline.signal]);
  try {
    for (let isStarted = false; !waitSignal.aborted;) {
      const response = await awaitResponse(services, engineRunId, waitSignal);
      if (response === 'queued') await sleep(services, POLL_MS);
      else if (response !== 'started') return response;
      // Asks once more after `started`: the run may have been started after the query to the engine.
      else if (isStarted) return undefined;
      else isStarted = true;
    }
    return undefined;
  } finally {
    stop();
  }
}

/**
 * Waits for the end of the run and returns its response. Returns undefined if the run has not ended. For a run
 * that the engine did not find, returns `queued` if the run waits in the queue, else `started`.
 */
async function awaitResponse(
  { engine, reservations }: Services,
  engineRunId: string,
  signal: AbortSignal,
): Promise<Response | 'queued' | 'started' | undefined> {
  try {
    const events = engine.follow(engineRunId, { signal })[Symbol.asyncIterator]();
    while (!(await events.next()).done);
    const run = await engine.getRun(engineRunId);
    if (signal.aborted || run.status === 'running' || run.status === 'paused') return undefined;
    return await executionResponse(engine, toPublicResult(resultOf(run, null)), () => engineRunId);
  } catch (error) {
    if (signal.aborted) return undefined;
    if (!isRunNotFound(error)) throw error;
    const reservation = (await reservations.findByEngineRunIds([engineRunId])).get(engineRunId);
    if (reservation?.isQueued) return 'queued';
    if (reservation?.failure) return Response.json(executionBody(toPublicResult(unstartedRun(reservation))));
    // The run was started after the query to the engine, or it has been deleted.
    return 'started';
  }
}

function sleep({ repeat }: Services, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = repeat(ms, resolve);
  return promise.finally(stop);
}
