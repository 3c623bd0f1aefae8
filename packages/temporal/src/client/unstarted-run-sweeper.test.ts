import { EngineError } from '@heddle/core';
import { createWorkerResources, RemoteRuns } from '@heddle/engine/runtime';
import type { StartRequest } from '@heddle/engine/runtime';
import { openStores } from '@heddle/engine/stores';
import { expect, it, onTestFinished, vi } from 'vitest';
import { compilePlan } from '../../../../test/support/compile-plan.ts';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { fn } from '../../../../test/support/workflow.ts';
import type { RunInput } from '../messages.ts';
import { profileOf } from '../options.ts';
import { UnstartedRunSweeper } from './unstarted-run-sweeper.ts';

const plan = compilePlan([fn('A', 'return 1')], ['Start -> A']);
const request: StartRequest = {
  runId: 'run-1',
  plan,
  version: undefined,
  input: {},
  start: plan.start,
  mocks: null,
};

function setup() {
  const clock = new TestClock();
  const stores = openStores({ data: createDataFolder(), shared: true, clock });
  const onError = vi.fn<(error: unknown) => void>();
  const resources = createWorkerResources(stores, { clock, onError });
  onTestFinished(async () => {
    await resources.close();
    stores.close();
  });
  const start = vi.fn<(input: RunInput) => Promise<void>>(async () => undefined);
  const runs = new RemoteRuns(resources.dependencies);
  const sweeper = new UnstartedRunSweeper({
    runtime: resources.dependencies,
    launcher: { start },
    profile: profileOf({}),
  });
  const readStartedIds = (): string[] => start.mock.calls.map(([{ runId }]) => runId);
  return { clock, runs, start, startedIds: readStartedIds, sweeper, onError };
}

it('starts a run whose process died, after the start timeout', async () => {
  const { clock, runs, sweeper, startedIds } = setup();
  await runs.recordStart(request);
  await sweeper.sweep();
  expect(startedIds()).toEqual([]);
  clock.advance(11_000);
  await sweeper.sweep();
  await sweeper.sweep();
  expect(startedIds()).toEqual(['run-1']);
});

it('starts a run immediately if its process could not start it', async () => {
  const { runs, sweeper, startedIds } = setup();
  await runs.recordStart(request);
  await runs.suspend('run-1', 'the server is unreachable');
  await sweeper.sweep();
  expect(startedIds()).toEqual(['run-1']);
});

it('does not start child runs, which their parents start', async () => {
  const { clock, runs, sweeper, startedIds } = setup();
  await runs.recordStart({ ...request, parent: { runId: 'p', block: 'W', scope: [], depth: 1 } });
  clock.advance(60_000);
  await sweeper.sweep();
  expect(startedIds()).toEqual([]);
});

it('reports an unreachable server and tries again', async () => {
  const { clock, runs, sweeper, start, onError } = setup();
  await runs.recordStart(request);
  clock.advance(60_000);
  const unreachableError = new EngineError('RUNTIME_UNREACHABLE', 'unreachable');
  start.mockRejectedValueOnce(unreachableError);
  await sweeper.sweep();
  await sweeper.sweep();
  await sweeper.sweep();
  expect(start).toHaveBeenCalledTimes(2);
  expect(onError.mock.calls.map(([error]) => error)).toEqual([unreachableError]);
});
