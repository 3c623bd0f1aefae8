import { EngineError } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { stateOfRun } from './run-state.ts';

type Dependencies = Parameters<typeof stateOfRun>[0];
type Run = { status: string; error?: { message: string } };
type Reservation = { isQueued: boolean; failure?: { message: string } };

/**
 * Returns the state of a run. `runs`: what the engine returns, one for each query; undefined: the engine does not have
 * the run.
 */
function stateWith(runs: readonly (Run | undefined)[], reservation?: Reservation) {
  const remainingRuns = [...runs];
  const engine = {
    getRun: () => {
      const run = remainingRuns.shift();
      return run ? Promise.resolve(run) : Promise.reject(new EngineError('RUN_NOT_FOUND', 'It is unknown.'));
    },
  };
  const reservations = {
    findByEngineRunIds: () => Promise.resolve(new Map(reservation ? [['r', reservation]] : [])),
  };
  return stateOfRun({ engine, reservations } as unknown as Dependencies, 'r');
}

const FAILED_RUN: Run = { status: 'failed', error: { message: 'No thread.' } };

describe('the state of a run', () => {
  it('is that of the engine, even if the run is still in the queue', async () => {
    expect(await stateWith([FAILED_RUN], { isQueued: true })).toEqual({
      isInProgress: false,
      error: 'No thread.',
    });
    expect(await stateWith([{ status: 'completed' }], { isQueued: true })).toEqual({ isInProgress: false });
    expect(await stateWith([{ status: 'paused' }])).toEqual({ isInProgress: true });
  });

  it('is that of the queue before the run starts', async () => {
    expect(await stateWith([undefined], { isQueued: true })).toEqual({ isInProgress: true });
    const failure = { message: 'It was refused.' };
    expect(await stateWith([undefined], { isQueued: false, failure })).toEqual({
      isInProgress: false,
      error: 'It was refused.',
    });
  });

  it('is that of the engine if the run starts between the two queries', async () => {
    expect(await stateWith([undefined, FAILED_RUN], { isQueued: false })).toEqual({
      isInProgress: false,
      error: 'No thread.',
    });
  });

  it('is unknown for a deleted run', async () => {
    expect(await stateWith([undefined, undefined], { isQueued: false })).toEqual({
      isInProgress: false,
      isUnknown: true,
    });
    expect(await stateWith([undefined])).toEqual({ isInProgress: false, isUnknown: true });
  });
});
